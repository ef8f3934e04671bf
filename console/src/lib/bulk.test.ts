import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, each, type Switched } from "./bulk";

const skill = (enabled: boolean, source: string, more: object = {}): Switched =>
  ({ slug: "a", path: "skills/a", source_kind: "workspace", policy: { enabled, source, allow_implicit_invocation: false, implicit_source: "start" }, ...more }) as Switched;

test("only skills that a change concerns are changed", () => {
  assert.equal(changes(skill(true, "start"), { enabled: true }), false);
  assert.equal(changes(skill(true, "start"), { enabled: false }), true);
  assert.equal(changes(skill(true, "workspace"), { enabled: null }), true);
  assert.equal(changes(skill(true, "gateway"), { enabled: null }), false);
  assert.equal(changes(skill(true, "start"), { allow_implicit_invocation: true }), true);
  assert.equal(changes(skill(true, "start", { shadowed_by: "skills/b" }), { enabled: false }), false);
});

test("a failure does not stop the others, and no more than some run at once", async () => {
  let running = 0;
  let most = 0;
  const out = await each([1, 2, 3, 4, 5, 6, 7], 3, async (n) => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
    if (n === 4) throw new Error("no");
  });
  assert.equal(most, 3);
  assert.deepEqual(out.done.toSorted(), [1, 2, 3, 5, 6, 7]);
  assert.deepEqual(out.failed.map((f) => f.item), [4]);
});
