import assert from "node:assert/strict";
import { test } from "node:test";
import { zipSync } from "fflate";
import { grouped, type FoundSkill } from "./collect";
import { versionOf } from "./compare";
import { zipExcess } from "./zip";

const limits = { entries: 3, fileBytes: 1000, totalBytes: 1500 };
const zip = (files: Record<string, number>): Blob => new Blob([zipSync(Object.fromEntries(Object.entries(files).map(([name, n]) => [name, new Uint8Array(n)]))) as Uint8Array<ArrayBuffer>]);

test("a zip that the sidecar would refuse is known before it is sent", async () => {
  assert.equal(await zipExcess("a.zip", zip({ "a/SKILL.md": 10 }), limits), undefined);
  assert.deepEqual(await zipExcess("a.zip", zip({ "a/SKILL.md": 10, "a/big": 1001 }), limits), { kind: "file", skill: "a.zip", path: "a/big", bytes: 1001, limit: 1000 });
  assert.equal((await zipExcess("a.zip", zip({ a: 900, b: 900 }), limits))?.kind, "total");
  assert.equal((await zipExcess("a.zip", zip({ a: 1, b: 1, c: 1, d: 1 }), limits))?.kind, "entries");
  assert.equal(await zipExcess("a.zip", new Blob(["no zip"]), limits), undefined);
});

const skill = (folder: string, paths: string[], text = ""): FoundSkill => ({
  folder, from: folder, files: paths.map((path) => ({ path, data: new Blob([text]) })), bytes: 600, leftOut: [], leftOutCount: 0,
});

test("skills share an archive as long as it keeps the limits", () => {
  const all = ["a", "b", "c"].map((f) => skill(f, ["SKILL.md"]));
  assert.deepEqual(grouped(all, { ...limits, entries: 100 }).map((g) => g.length), [2, 1]);
  assert.deepEqual(grouped(all, limits).map((g) => g.length), [1, 1, 1]);
  assert.deepEqual(grouped([], limits), []);
});

test("the version of a dropped folder is that of its frontmatter", async () => {
  for (const [text, want] of [
    ['---\nname: a\nversion: "0.4.0"\n---\nversion: 9', "0.4.0"],
    ["---\r\nversion: 1.2 # new\r\n---\r\n", "1.2"],
    ["---\nmetadata:\n  version: 2.0.0\n---\n", "2.0.0"],
    ["---\nname: a\n---\nversion: 9", undefined],
    ["no frontmatter", undefined],
  ] as const) assert.equal(await versionOf(skill("a", ["SKILL.md"], text)), want);
});
