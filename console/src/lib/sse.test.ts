import { test } from "node:test";
import assert from "node:assert/strict";
import { Frames } from "./sse";

test("frames are found wherever the stream is cut", () => {
  const stream = ': hello\n\nid: 7\nevent: a\ndata: {"x":1}\n\nid: 8\ndata: one\ndata: two\n\n';
  for (let cut = 0; cut <= stream.length; cut++) {
    const frames = new Frames();
    const got = [...frames.push(stream.slice(0, cut)), ...frames.push(stream.slice(cut))];
    assert.deepEqual(got, [{ id: "7", data: '{"x":1}' }, { id: "8", data: "one\ntwo" }], `cut at ${cut}`);
  }
});
