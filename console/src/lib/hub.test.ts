import assert from "node:assert/strict";
import { test } from "node:test";
import { Hub, type Answer } from "./hub";
import type { Note } from "./stream";

function world() {
  const opened: { token: string; tell: (n: Note) => void; stopped: boolean }[] = [];
  const hub = new Hub("/v1/events", (_address, token, tell) => {
    const made = { token, tell, stopped: false };
    opened.push(made);
    return { stop: () => void (made.stopped = true), retry() {} };
  });
  const port = () => {
    const got: Answer[] = [];
    return { got, postMessage: (a: Answer) => void got.push(a) };
  };
  return { hub, opened, port };
}

test("tabs with one token have one stream, which ends with the last of them", () => {
  const { hub, opened, port } = world();
  const [a, b, other] = [port(), port(), port()];
  hub.receive(a, { type: "follow", token: "t" });
  opened[0]!.tell({ type: "open" });
  hub.receive(b, { type: "follow", token: "t" });
  hub.receive(other, { type: "follow", token: "u" });
  assert.deepEqual(opened.map((o) => o.token), ["t", "u"]);
  assert.deepEqual(b.got, [{ type: "open" }]);
  opened[0]!.tell({ type: "event", event: 1 });
  assert.deepEqual([a.got.at(-1), b.got.at(-1), other.got], [{ type: "event", event: 1 }, { type: "event", event: 1 }, []]);
  hub.receive(a, { type: "leave" });
  assert.equal(opened[0]!.stopped, false);
  hub.receive(b, { type: "bye" });
  assert.equal(opened[0]!.stopped, true);
});

test("a refused token is told to its tabs, and asked for anew by the next one", () => {
  const { hub, opened, port } = world();
  const a = port();
  hub.receive(a, { type: "follow", token: "t" });
  opened[0]!.tell({ type: "refused", status: 401, code: "token_unknown", detail: "", hint: "" });
  assert.equal(a.got[0]!.type, "refused");
  hub.receive(a, { type: "follow", token: "t" });
  assert.equal(opened.length, 2);
});

test("a new tab gets the session of another; an embedded frame neither gets nor gives one", () => {
  const { hub, port } = world();
  const [a, b, frame] = [port(), port(), port()];
  hub.receive(frame, { type: "follow", token: "other" });
  hub.receive(b, { type: "ask" });
  hub.receive(a, { type: "share", token: "t", flags: "--socket s" });
  assert.deepEqual(b.got, [{ type: "token", token: "", flags: "" }, { type: "token", token: "t", flags: "--socket s" }]);
  hub.receive(a, { type: "forget", token: "t", logout: true });
  assert.deepEqual(b.got.at(-1), { type: "logout" });
  assert.deepEqual(frame.got, []);
  hub.receive(b, { type: "ask" });
  assert.deepEqual(b.got.at(-1), { type: "token", token: "", flags: "" });
});
