import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, type Entry } from "./auditlog";

const entry = (seq: number, rest: Partial<Entry>): Entry => ({ seq, time: "2026-11-23T00:00:00Z", phase: "outcome", action: "policy.set", actor: { kind: "socket", uid: 0 }, ...rest });

test("an intent and its outcome are one change", () => {
  const changes = changesOf([
    entry(2, { intent: 1, slug: "pdf", detail: { before: {} } }),
    entry(1, { phase: "intent", slug: "pdf", detail: { source_kind: "workspace", enabled: false } }),
  ]);
  assert.deepEqual(changes, [
    { seq: 2, time: "2026-11-23T00:00:00Z", action: "policy.set", actor: "uid 0 (socket)", slug: "pdf", detail: "source kind workspace, enabled false", error: "", state: "done" },
  ]);
});

test("what failed, and what has no outcome, is told", () => {
  const changes = changesOf([entry(3, { phase: "intent" }), entry(2, { intent: 1, error: "no room" })]);
  assert.deepEqual(changes.map((c) => [c.seq, c.state, c.error]), [[3, "open", ""], [2, "failed", "no room"]]);
});

test("actors are named by token, user or kind", () => {
  const actor = (a: Entry["actor"]) => changesOf([entry(1, { actor: a })])[0]!.actor;
  assert.equal(actor({ kind: "tcp", name: "ci" }), "ci (tcp)");
  assert.equal(actor({ kind: "sidecar" }), "sidecar");
});

test("details leave out digests and count lists", () => {
  const detail = { path: "skills/a", fingerprint: "sha256:" + "a".repeat(64), bins: { count: 3, digest: "x" }, nothing: null };
  assert.equal(changesOf([entry(1, { phase: "intent", detail })])[0]!.detail, "path skills/a, bins 3");
});
