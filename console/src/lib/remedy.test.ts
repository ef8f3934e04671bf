import assert from "node:assert/strict";
import { test } from "node:test";
import { quote, remediesOf, slugsOf, splitHint, withFlags } from "./remedy";

const condition = (code: string, subject = "state") => ({ code, subject, severity: "warning", message: "m", hint: "h" });

test("a condition of skills leads to each of them", () => {
  assert.deepEqual(remediesOf(condition("skills_unreadable", "a, b")), [
    { kind: "skill", slug: "a", tab: "problems" },
    { kind: "skill", slug: "b", tab: "problems" },
  ]);
  assert.deepEqual(remediesOf(condition("scan_findings", "a")), [{ kind: "skill", slug: "a", tab: "scan" }, { kind: "scan", slug: "a" }]);
});

test("many skills lead to their list too", () => {
  const remedies = remediesOf(condition("skills_unreadable", "a, b, c, d, e, f, gggg…"));
  assert.equal(remedies.filter((r) => r.kind === "skill").length, 5);
  assert.deepEqual(remedies.at(-1), { kind: "skills", state: "ineligible" });
});

test("a slug that is cut off is left out", () => {
  assert.deepEqual(slugsOf("alpha, beta, gam…"), ["alpha", "beta"]);
  assert.deepEqual(slugsOf("alpha"), ["alpha"]);
  assert.deepEqual(slugsOf("some text"), []);
});

test("what lasts until it is acknowledged can be acknowledged", () => {
  for (const code of ["state_lost", "policy_restored", "audit_broken"]) {
    assert.deepEqual(remediesOf(condition(code)), [{ kind: "acknowledge", condition: code }]);
  }
});

test("a refused card and a repaired root are retried by a scan", () => {
  assert.deepEqual(remediesOf(condition("push_failing", "http://p")), [{ kind: "view", view: "card" }, { kind: "rescan" }]);
  assert.deepEqual(remediesOf(condition("root_missing", "skills")), [{ kind: "rescan" }]);
  assert.deepEqual(remediesOf(condition("config_restart_needed", "config.yaml")), []);
  assert.deepEqual(remediesOf(condition("few_descriptors", "RLIMIT_NOFILE")), []);
});

test("a hint is split into texts, code and commands", () => {
  assert.deepEqual(splitHint("`pannier list` shows the line; run \"pannier show x\" or raise `ulimit -n`"), [
    { text: "pannier list", kind: "command" },
    { text: " shows the line; run ", kind: "text" },
    { text: "pannier show x", kind: "command" },
    { text: " or raise ", kind: "text" },
    { text: "ulimit -n", kind: "code" },
  ]);
});

test("a command names the skill, if there is one", () => {
  const commands = (slugs: string[]) => splitHint("`pannier show`, `pannier scan SLUG`, `pannier list`", slugs).filter((p) => p.kind === "command").map((p) => p.text);
  assert.deepEqual(commands(["a b"]), ["pannier show 'a b'", "pannier scan 'a b'", "pannier list"]);
  assert.deepEqual(commands(["a", "b"]), ["pannier show", "pannier scan SLUG", "pannier list"]);
});

test("commands get the flags of the session", () => {
  assert.equal(withFlags("pannier list", "--socket /tmp/s"), "pannier list --socket /tmp/s");
});

test("commands that ask no sidecar, or name one, stay as they are", () => {
  assert.equal(withFlags("pannier token NAME SCOPE --append FILE", "--url https://x"), "pannier token NAME SCOPE --append FILE");
  assert.equal(withFlags("pannier list --url https://y", "--url https://x"), "pannier list --url https://y");
  assert.equal(withFlags("pannier list", ""), "pannier list");
});

test("words are quoted for a shell", () => {
  assert.equal(quote("/run/pannier/a.sock"), "/run/pannier/a.sock");
  assert.equal(quote("/tmp/a b'c"), "'/tmp/a b'\\''c'");
});
