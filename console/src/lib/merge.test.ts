import { test } from "node:test";
import assert from "node:assert/strict";
import type { Skill } from "../api/model";
import { describe, mergeSlugs, replaceAll, type Skills } from "./merge";

const skill = (slug: string, more: Partial<Skill> = {}): Skill => ({
  slug, id: slug, path: "skills/" + slug, root: "skills", source_kind: "workspace", name: slug, description: "", user_invocable: true,
  disable_model_invocation: false, last_good: false, state: "eligible", usable: true, reasons: [], ...more,
});
const map = (...all: Skill[]): Skills => new Map(all.map((s) => [s.path, s]));
const paths = (m: Skills) => [...m.keys()];

test("one changed skill is replaced in place, and all others stay the same values", () => {
  const [a, b, c] = [skill("a"), skill("b"), skill("c")];
  const { skills, changes } = mergeSlugs(map(a, b, c), new Set(["b"]), [skill("b", { version: "2" })]);
  assert.deepEqual(paths(skills), ["skills/a", "skills/b", "skills/c"]);
  assert.equal(skills.get("skills/a"), a);
  assert.equal(skills.get("skills/b")!.version, "2");
  assert.deepEqual(changes.map((x) => x.path), ["skills/b"]);
});

test("a new skill comes in order, a removed one goes", () => {
  const { skills, changes } = mergeSlugs(map(skill("a"), skill("d")), new Set(["b", "d"]), [skill("b")]);
  assert.deepEqual(paths(skills), ["skills/a", "skills/b"]);
  assert.deepEqual(changes.map((c) => c.slug + ": " + c.text), ["b: New", "d: Removed"]);
});

test("skills that share a slug stay apart, the winner first", () => {
  const shadowed = skill("a", { path: "extra/a", shadowed_by: "skills/a", state: "shadowed" });
  const { skills } = mergeSlugs(map(skill("b")), new Set(["a"]), [shadowed, skill("a")]);
  assert.deepEqual(paths(skills), ["skills/a", "extra/a", "skills/b"]);
  const gone = mergeSlugs(skills, new Set(["a"]), [skill("a", { path: "extra/a" })]);
  assert.deepEqual(paths(gone.skills), ["extra/a", "skills/b"]);
  assert.match(gone.changes[0]!.text, /Shadowed/);
});

test("a directory whose skill gets another slug is one row", () => {
  const { skills } = mergeSlugs(map(skill("a"), skill("z")), new Set(["b"]), [skill("b", { path: "skills/a" })]);
  assert.deepEqual(paths(skills), ["skills/a", "skills/z"]);
});

test("the first list is no change, the next one says what is different", () => {
  const first = replaceAll(new Map(), [skill("b"), skill("a")]);
  assert.deepEqual(paths(first.skills), ["skills/a", "skills/b"]);
  assert.deepEqual(first.changes, []);
  const next = replaceAll(first.skills, [skill("a"), skill("b", { state: "disabled", usable: false }), skill("c")]);
  assert.deepEqual(next.changes.map((c) => c.path), ["skills/b", "skills/c"]);
  assert.deepEqual(replaceAll(next.skills, [skill("a")]).changes.map((c) => c.text), ["Removed", "Removed"]);
});

test("a change names what a person would notice", () => {
  const before = skill("a", { version: "1", digest: "x" });
  assert.equal(describe(before, { ...before }), "");
  assert.match(describe(before, { ...before, version: "2", digest: "y" }), /1.*2/);
  assert.match(describe(before, { ...before, state: "ineligible", usable: false }), /Offered → Not usable/);
  assert.match(describe(before, { ...before, last_good: true }), /last/);
  assert.notEqual(describe(before, { ...before, digest: "z" }), "");
});
