import assert from "node:assert/strict";
import { test } from "node:test";
import { pushStateOf } from "./pushstate";

const of = (code: string, subject: string) => ({ code, subject, severity: "warning", message: "m", hint: "h" });
const push = { platform: "http://p", desired: "sha256:a", acknowledged: "sha256:a" };

test("a platform is in step when it acknowledged the newest card", () => {
  assert.equal(pushStateOf(push, []), "in_step");
  assert.equal(pushStateOf({ ...push, desired: "sha256:b" }, []), "pushing");
  assert.equal(pushStateOf({ platform: "http://p" }, []), "waiting");
});

test("faults come before the digests", () => {
  assert.equal(pushStateOf({ ...push, last_error: "503" }, []), "failing");
  assert.equal(pushStateOf({ ...push, last_error: "422", blocked: true }, [of("card_contested", "http://p")]), "refused");
  assert.equal(pushStateOf(push, [of("card_contested", "http://p")]), "contested");
  assert.equal(pushStateOf({ ...push, desired: "sha256:b" }, [of("card_withheld", "workspace")]), "withheld");
});

test("the condition of another platform says nothing about this one", () => {
  assert.equal(pushStateOf(push, [of("card_contested", "http://q")]), "in_step");
});
