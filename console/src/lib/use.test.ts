import assert from "node:assert/strict";
import { test } from "node:test";
import type { Skill } from "../api/model";
import { lineOf, sorted, useOf } from "./use";

const policy = (implicit: boolean) => ({ enabled: true, allow_implicit_invocation: implicit, source: "start", implicit_source: "start" }) as Skill["policy"];
const skill = (slug: string, more: Partial<Skill> = {}): Skill => ({
  slug, id: slug, path: "skills/" + slug, root: "skills", source_kind: "workspace", name: slug, description: "Counts.", user_invocable: true,
  disable_model_invocation: false, last_good: false, state: "eligible", usable: true, reasons: [], policy: policy(true), ...more,
});

test("usable alone does not mean that the model is offered a skill", () => {
  assert.equal(useOf(skill("a")), "offered");
  assert.equal(useOf(skill("a", { policy: policy(false) })), "named");
  assert.equal(useOf(skill("a", { disable_model_invocation: true })), "named");
  assert.equal(useOf(skill("a", { usable: false, state: "ineligible" })), "off");
});

test("a row says why a skill is not used and what to do, else what it is for", () => {
  assert.deepEqual(lineOf(skill("a")), { text: "Counts.", todo: "", tone: "" });
  const needy = skill("a", { usable: false, state: "ineligible", reasons: [{ code: "missing_binary", subject: "jq", remedy: "install jq" }] as Skill["reasons"] });
  assert.deepEqual(lineOf(needy), { text: "Missing program: jq", todo: "install jq", tone: "bad" });
  assert.match(lineOf(skill("a", { usable: false, state: "unlisted" })).todo, /config\.yaml/);
  const named = lineOf(skill("a", { disable_model_invocation: true }));
  assert.match(named.text, /named.*Counts/);
  assert.match(named.todo, /remove disable-model-invocation/);
});

test("columns sort, numbers by their value, and equal rows stay in order", () => {
  const all = [skill("a", { version: "10" }), skill("b", { version: "9", usable: false }), skill("c", { version: "10" })];
  const slugs = (by: string) => sorted(all, by, (s) => s.root).map((s) => s.slug).join("");
  assert.equal(slugs(""), "abc");
  assert.equal(slugs("version"), "bac");
  assert.equal(slugs("-version"), "acb");
  assert.equal(slugs("-use"), "bac");
  assert.equal(slugs("-slug"), "cba");
  assert.equal(slugs("constructor"), "abc");
});
