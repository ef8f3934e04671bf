import { test } from "node:test";
import assert from "node:assert/strict";
import { search } from "./search";

const skill = (slug: string, description: string, tags: string[] = []) => ({ slug, name: slug, description, tags });

test("every word has to be found, anywhere and in any case", () => {
  const all = [skill("pdf-forms", "Fill in forms", ["Office"]), skill("csv", "Reports"), skill("pdf-merge", "Merge files")];
  const slugs = (q: string) => search(all, q).map((s) => s.slug);
  assert.deepEqual(slugs("PDF"), ["pdf-forms", "pdf-merge"]);
  assert.deepEqual(slugs("pdf  fill"), ["pdf-forms"]);
  assert.deepEqual(slugs("office"), ["pdf-forms"]);
  assert.deepEqual(slugs("pdf nothing"), []);
  assert.equal(search(all, "  "), all);
});

test("a changed skill is searched as it is now", () => {
  const before = skill("a", "old");
  assert.equal(search([before], "old").length, 1);
  assert.equal(search([{ ...before, description: "new" }], "old").length, 0);
});
