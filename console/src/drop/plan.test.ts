import assert from "node:assert/strict";
import { test } from "node:test";
import { blockingRules, counts, droppedPath, inOrder, itemsOf, rowOf, toInstall, type Choice, type Result } from "./plan";

const ok = (status: string): Result => ({ path: "pdf", ok: true, result: { status, skill: { slug: "pdf", version: "2", path: "skills/pdf" } } });
const no = (code: string, more: object = {}): Result => ({ path: "pdf", ok: false, error: { code, detail: "no", ...more } });
const conflict = { slug: "pdf", path: "skills/pdf", fingerprint: "sha256:1", installed_version: "1" };

const cases: [string, Result, Choice, string, boolean, string | undefined][] = [
  ["a new skill", ok("installed"), {}, "new", true, undefined],
  ["the same skill", ok("already_installed"), {}, "same", false, undefined],
  ["a replaced skill", ok("updated"), { replace: conflict }, "update", true, undefined],
  ["other content is installed", no("install.exists", { conflict }), {}, "exists", false, "replace"],
  ["placed there by hand", no("install.not_managed", { conflict }), {}, "exists", false, "replace"],
  ["without a fingerprint nothing can be replaced", no("install.exists", { conflict: { ...conflict, fingerprint: undefined } }), {}, "exists", false, undefined],
  ["somebody else replaced it", no("install.fingerprint", { conflict }), {}, "changed", false, "replace"],
  ["another skill has the slug", no("install.collision", { conflict }), {}, "collision", false, undefined],
  ["a finding blocks", no("install.security", { findings: [{ rule: "scan.x", blocking: true, path: "a", message: "m", severity: "error" }] }), {}, "blocked", false, "accept"],
  ["something is missing", no("install.dependency"), {}, "missing", false, "allow_missing"],
  ["anything else", no("install.invalid"), {}, "refused", false, undefined],
  ["skipped", ok("installed"), { skip: true }, "skipped", false, undefined],
];

for (const [name, result, choice, verdict, goes, offer] of cases) {
  test(`row: ${name}`, () => {
    const row = rowOf(result, choice);
    assert.deepEqual([row.verdict, row.goes, row.offer], [verdict, goes, offer]);
  });
}

test("an update names both versions", () => {
  const row = rowOf(ok("updated"), { replace: conflict });
  assert.deepEqual([row.from, row.version], ["1", "2"]);
});

test("what concerns every installed skill is not said of each", () => {
  const result = ok("installed");
  const problem = (code: string) => ({ code, severity: "info", message: code });
  result.result!.problems = [problem("install.explicit_only"), problem("skill.body.long")];
  assert.deepEqual(rowOf(result).notes.map((n) => n.message), ["skill.body.long"]);
});

test("new skills, and replaced ones without a policy, ask whether the model is offered them", () => {
  const updated = ok("updated");
  assert.deepEqual([rowOf(ok("installed")).asks, rowOf(updated).asks, rowOf(no("install.exists")).asks], [true, false, false]);
  updated.result!.problems = [{ code: "install.explicit_only", severity: "info", message: "" }];
  assert.deepEqual([rowOf(updated, { replace: conflict }).asks, rowOf(updated, { skip: true }).asks], [true, undefined]);
});

test("rules are read from the text if findings are absent", () => {
  assert.deepEqual(blockingRules({ code: "install.security", detail: "a: x (scan.pipe_to_shell); b: y (scan.secret)" }), ["scan.pipe_to_shell", "scan.secret"]);
});

test("items of choices", () => {
  const choices = new Map<string, Choice>([["a", {}], ["b", { skip: true, allowMissing: true }], ["c", { replace: conflict, accept: ["r"], reason: "why" }]]);
  assert.deepEqual(itemsOf(choices), [{ path: "b", skip: true }, { path: "c", replace: { expected_fingerprint: "sha256:1" }, accept: ["r"], reason: "why" }]);
});

test("only what goes is installed", () => {
  const rows = [rowOf(ok("installed")), rowOf({ ...no("install.invalid"), path: "bad" })];
  assert.deepEqual(toInstall(rows, new Map()), [{ path: "pdf" }, { path: "bad", skip: true }]);
  assert.deepEqual(counts(rows), { installs: 1, updates: 0, same: 0, stays: 1, findings: 0 });
});

test("what has to be looked at is first and counted, and a choice moves no row", () => {
  const found = ok("installed");
  found.path = "found";
  found.result!.findings = [{ rule: "scan.x", path: "a", message: "m", severity: "warning" }];
  const order = (choice: Choice) => inOrder([rowOf(ok("installed"), choice), rowOf(found, choice), rowOf({ ...no("install.invalid"), path: "bad" }, choice)]).map((r) => r.path);
  assert.deepEqual(order({}), ["found", "bad", "pdf"]);
  assert.deepEqual(order({ skip: true }), ["found", "bad", "pdf"]);
  assert.equal(counts([rowOf(found)]).findings, 1);
  assert.equal(counts([rowOf(found, { skip: true })]).findings, 0);
});

test("a file is named where it lay", () => {
  assert.equal(droppedPath("pdf-2/SKILL.md", "pdf-2", "down/pdf"), "down/pdf/SKILL.md");
  assert.equal(droppedPath("SKILL.md", "pdf", "down/pdf"), "down/pdf/SKILL.md");
  assert.equal(droppedPath("pdf/SKILL.md", "pdf", undefined), "pdf/SKILL.md");
});
