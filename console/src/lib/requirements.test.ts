import { test } from "node:test";
import assert from "node:assert/strict";
import type { Problem } from "../api/model";
import { effectOf, needsOf } from "./requirements";

const warning = (code: string, subject: string): Problem => ({ code, severity: "warning", path: "skills/a/SKILL.md", subject, message: "it is missing", hint: "do " + code });

test("each requirement is met, missing, unverified or optional", () => {
  const needs = needsOf({
    requirements: { bins: ["sh", "ffmpeg"], any_bins: ["x", "y"], env: ["HOME", "HOME2"], api_keys: ["KEY"], mcp: ["files"], config: ["tools.video", "a/b.json"], os: ["linux", "darwin"] },
    runtime: ["langgraph"],
    reasons: [{ code: "missing_binary", subject: "ffmpeg", remedy: "install it" }],
    problems: [
      warning("unverified.missing_any_binary", "x, y"),
      warning("unverified.missing_env", "HOME2"),
      warning("unverified.missing_api_key", "KEY"),
      warning("missing_config", "a/b.json"),
    ],
  });
  assert.deepEqual(
    needs.map((n) => `${n.kind} ${n.item} ${n.status}`),
    [
      "bins sh met", "bins ffmpeg missing", "any_bins x, y unverified", "env HOME met", "env HOME2 unverified", "api_keys KEY unverified", "mcp files met",
      "config tools.video met", "config a/b.json optional", "os linux, darwin met", "runtime langgraph met",
    ],
  );
  assert.equal(needs[1]!.remedy, "install it");
  assert.equal(needs[2]!.remedy, "do unverified.missing_any_binary");
});

test("always skips all but the operating system and the runtime", () => {
  const needs = needsOf({ requirements: { bins: ["x"], os: ["darwin"], always: true }, runtime: [], reasons: [{ code: "os_unsupported", subject: "linux", remedy: "run it there" }] });
  assert.deepEqual(needs.map((n) => n.status), ["skipped", "missing"]);
});

test("the one alternative of several programs is named alone", () => {
  const needs = needsOf({ requirements: { any_bins: ["x"] }, reasons: [], problems: [warning("unverified.missing_any_binary", "x")] });
  assert.equal(needs[0]!.status, "unverified");
});

test("what a missing program does is read from the skills", () => {
  const skill = (...codes: string[]) => ({ reasons: codes.map((code) => ({ code, subject: "jq", remedy: "" })) });
  assert.equal(effectOf([skill()]), "unknown");
  assert.equal(effectOf([skill("unverified.missing_binary")]), "warns");
  assert.equal(effectOf([skill("unverified.missing_binary"), skill("missing_env")]), "blocks");
});
