import assert from "node:assert/strict";
import { test } from "node:test";
import { takeCode } from "./session";

test("a code is taken out of the address, also one that no server has made", () => {
  for (const [hash, want] of [["#code=aB-_9", "aB-_9"], ["#code=aB&x", "aB"], ["#code=%", "%"], ["#code=%ff", "%ff"], ["#code=", ""], ["#/skills", ""]]) {
    let shown = "/console/" + hash;
    Object.assign(globalThis, {
      location: { hash, pathname: "/console/", search: "" },
      history: { replaceState: (_state: unknown, _title: string, address: string) => (shown = address) },
    });
    assert.equal(takeCode(), want);
    assert.equal(shown, want ? "/console/" : "/console/" + hash);
  }
});
