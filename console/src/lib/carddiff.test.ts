import assert from "node:assert/strict";
import { test } from "node:test";
import { diffCards, isSame } from "./carddiff";

const pdf = { id: "pdf", name: "PDF", description: "Forms", tags: ["a"] };
const csv = { id: "csv", name: "CSV", description: "Tables", tags: [] };

test("equal cards have no difference, whatever the order of their keys", () => {
  const change = diffCards({ name: "x", cap: { a: 1, b: 2 }, skills: [pdf] }, { cap: { b: 2, a: 1 }, name: "x", skills: [{ ...pdf }] });
  assert.ok(isSame(change), JSON.stringify(change));
});

test("skills that are missing, extra or changed are told apart", () => {
  const change = diffCards({ skills: [pdf, { id: "old", name: "Old" }] }, { skills: [{ ...pdf, description: "More forms" }, csv] });
  assert.deepEqual(change.skills, [
    { id: "pdf", name: "PDF", change: "changed", fields: [{ field: "description", has: "Forms", wanted: "More forms" }] },
    { id: "csv", name: "CSV", change: "missing", fields: [] },
    { id: "old", name: "Old", change: "extra", fields: [] },
  ]);
});

test("another order of the same skills is a difference", () => {
  assert.deepEqual(diffCards({ skills: [pdf, csv] }, { skills: [csv, pdf] }).skills.map((s) => s.change), ["moved", "moved"]);
});

test("keys of the card are compared by value; those of others are kept", () => {
  const change = diffCards({ name: "x", url: "http://a" }, { name: "y" });
  assert.deepEqual(change.fields, [{ field: "name", has: "x", wanted: "y" }]);
  assert.deepEqual(change.kept, ["url"]);
  assert.ok(isSame(diffCards({ name: "y", url: "http://a" }, { name: "y" })));
});

test("a card of any shape is compared", () => {
  for (const skills of [null, "text", [1, null, [], {}], { a: 1 }]) {
    assert.deepEqual(diffCards({ skills }, { skills: [pdf] }).skills.map((s) => s.change), ["missing"]);
  }
});
