import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, eventTypes, someOf } from "./eventtext";

const line = (type: string, data: unknown) => {
  const d = describe(type, data);
  return [d.subject, d.text, d.tone].join(" | ");
};

test("states are told by what follows from them", () => {
  assert.equal(line("skill_state_changed", { slug: "pdf", from: "ineligible", to: "eligible", cause: "" }), "pdf | is usable now | good");
  assert.equal(line("skill_state_changed", { slug: "pdf", to: "eligible", cause: "" }), "pdf | was added and is usable | good");
  assert.equal(line("skill_state_changed", { slug: "pdf", from: "eligible", to: "ineligible", cause: "ineligible: missing_binary" }), "pdf | went from “Usable” to “Not usable”: missing_binary | bad");
  const gone = describe("skill_state_changed", { slug: "pdf", from: "eligible", cause: "removed" });
  assert.deepEqual([gone.subject, gone.text, gone.isSkill], ["pdf", "was removed", false]);
});

test("the catalog names what changed", () => {
  assert.equal(line("skill_catalog_updated", { count: 3, added: ["a"], changed: [], removed: ["b", "c"], collisions: [] }), " | The catalog has 3 skills; added a; removed b, c | quiet");
});

test("pushes, scans and switches", () => {
  assert.equal(line("card_pushed", { platform: "http://p", duration_ms: 12 }), "http://p | has the card after 12 ms | good");
  assert.equal(line("card_rejected", { platform: "http://p", error: "422" }), "http://p | refused the card: 422 | bad");
  assert.equal(line("skill_scanned", { slug: "pdf", decision: "block", findings: 2 }), "pdf | security scan: 2 findings, at least one blocks | bad");
  assert.equal(line("policy_changed", { slug: "pdf", effective: { enabled: false } }), "pdf | is switched off | quiet");
});

test("every type copes with empty data, and with none", () => {
  for (const type of [...eventTypes, "a_new_type"]) {
    for (const data of [{}, null, undefined, "text", { skills: null, fields: null, effective: null, active: null }]) {
      assert.ok(describe(type, data).text.length > 0, `${type} ${JSON.stringify(data)}`);
    }
  }
  assert.equal(describe("a_new_type", {}).text, "a new type");
});

test("long lists are cut", () => {
  assert.equal(someOf(["a", "b", "c", "d", "e"]), "a, b, c, d, e");
  assert.equal(someOf(["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
});
