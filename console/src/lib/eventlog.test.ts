import assert from "node:assert/strict";
import { test } from "node:test";
import { EventLog, matches, maxEvents, type EventRecord } from "./eventlog";

const event = (seq: number, type = "skill_loaded", data: unknown = { name: "pdf" }): EventRecord => ({ seq, time: "2026-11-23T00:00:00Z", type, snapshot_version: 1, data });
const seqs = (log: EventLog) => log.events.map((e) => e.seq);

test("events stand newest first; a repeated one stands once", () => {
  const log = new EventLog();
  for (const seq of [1, 2, 2, 3, 1]) log.add(event(seq));
  assert.deepEqual(seqs(log), [3, 2, 1]);
});

test("a pause keeps what is shown and counts what comes", () => {
  const log = new EventLog();
  log.add(event(1));
  log.pause();
  log.add(event(2));
  log.add(event(3));
  assert.deepEqual(seqs(log), [1]);
  assert.equal(log.waiting, 2);
  log.resume();
  assert.deepEqual(seqs(log), [3, 2, 1]);
  assert.equal(log.waiting, 0);
});

test("recorded events stand below those that came meanwhile", () => {
  const log = new EventLog();
  const at = (seq: number) => ({ ...event(seq), time: `2026-11-23T00:00:0${seq}Z` });
  log.add(at(5));
  log.add(at(4));
  log.addOlder([at(4), at(3), at(2)]);
  assert.deepEqual(seqs(log), [5, 4, 3, 2]);
});

test("the log is bounded, paused or not", () => {
  const log = new EventLog();
  for (let seq = 1; seq <= maxEvents + 5; seq++) log.add(event(seq));
  assert.equal(log.events.length, maxEvents);
  log.pause();
  for (let seq = 1; seq <= maxEvents + 5; seq++) log.add(event(maxEvents + 5 + seq));
  assert.equal(log.waiting, maxEvents);
  log.resume();
  assert.equal(log.events.length, maxEvents);
  assert.equal(log.events[0]!.seq, 2 * maxEvents + 10);
});

test("a filter takes types and a part of a slug", () => {
  const all = { types: new Set<string>(), skill: "" };
  assert.ok(matches(event(1), all));
  assert.ok(!matches(event(1), { ...all, types: new Set(["card_pushed"]) }));
  assert.ok(matches(event(1), { ...all, skill: " PD" }));
  assert.ok(!matches(event(1, "card_pushed", { platform: "pdf" }), { ...all, skill: "pdf" }));
  assert.ok(matches(event(1, "skill_catalog_updated", { added: ["x"], changed: ["pdf"], removed: [] }), { ...all, skill: "pdf" }));
  assert.ok(matches(event(1, "turn_resolved", { skills: [{ slug: "pdf" }, null] }), { ...all, skill: "pdf" }));
  assert.ok(!matches(event(1, "card_pushed", null), { ...all, skill: "pdf" }));
});
