import assert from "node:assert/strict";
import { test } from "node:test";
import { trustSource } from "./trust";

test("trust is named by its source", () => {
  assert.equal(trustSource({ managed: false, source_kind: "workspace", trust_level: "verified" }), "local");
  assert.equal(trustSource({ managed: true, source_kind: "workspace", trust_level: "community" }), "installed");
  assert.equal(trustSource({ managed: true, source_kind: "managed", trust_level: "verified" }), "installed, set to verified");
  assert.equal(trustSource({ managed: false, source_kind: "extra", trust_level: "untrusted" }), "extra, set to untrusted");
});
