import assert from "node:assert/strict";
import { test } from "node:test";
import { unzipSync } from "fflate";
import { FileChanged, pack } from "./pack";
import type { FoundSkill } from "./collect";

const skill = (folder: string, files: Record<string, string | Uint8Array<ArrayBuffer>>): FoundSkill => {
  const list = Object.entries(files).map(([path, text]) => ({ path, data: new Blob([text]) }));
  return { folder, from: folder, files: list, bytes: list.reduce((n, f) => n + f.data.size, 0), leftOut: [], leftOutCount: 0 };
};

const unzipped = async (b: Blob) => unzipSync(new Uint8Array(await b.arrayBuffer()));

test("one zip has a folder for each skill, byte for byte", async () => {
  const large = new Uint8Array(300_000).map((_, i) => (i * i) % 251);
  const zip = await unzipped(await pack([skill("a", { "SKILL.md": "one", "big.bin": large, "photo.png": large, empty: "" }), skill("b", { "SKILL.md": "two" })]));
  assert.deepEqual(Object.keys(zip), ["a/SKILL.md", "a/big.bin", "a/photo.png", "a/empty", "b/SKILL.md"]);
  assert.deepEqual(zip["a/big.bin"], large);
  assert.deepEqual(zip["a/photo.png"], large);
  assert.equal(new TextDecoder().decode(zip["b/SKILL.md"]), "two");
  assert.equal(zip["a/empty"]!.length, 0);
});

test("the same files give the same archive", async () => {
  const once = async () => Buffer.from(await (await pack([skill("a", { "SKILL.md": "one" })])).arrayBuffer());
  assert.deepEqual(await once(), await once());
});

test("a file with an interpreter is executable", async () => {
  const bytes = Buffer.from(await (await pack([skill("a", { "run.sh": "#!/bin/sh\n", "x.md": "# !" })])).arrayBuffer());
  const modes: number[] = [];
  for (let at = bytes.indexOf("PK\x01\x02", 0, "latin1"); at >= 0; at = bytes.indexOf("PK\x01\x02", at + 4, "latin1")) modes.push(bytes.readUInt32LE(at + 38) >>> 16);
  assert.deepEqual(modes, [0o100755, 0o100644]);
});

test("a file that shrank after the drop is named", async () => {
  const s = skill("a", { "SKILL.md": "one" });
  const gone = { size: 10, slice: () => new Blob(["x"]) } as unknown as Blob;
  s.files.push({ path: "b.md", data: gone });
  await assert.rejects(pack([s]), (err) => err instanceof FileChanged && err.path === "b.md");
});

test("progress counts every byte, and a signal ends packing", async () => {
  const seen: number[] = [];
  await pack([skill("a", { "SKILL.md": "12345", b: new Uint8Array(200_000) })], { onProgress: (done) => seen.push(done) });
  assert.equal(seen.at(-1), 200_005);
  assert.ok(seen.length > 3);
  const stop = new AbortController();
  await assert.rejects(pack([skill("a", { b: new Uint8Array(200_000) })], { signal: stop.signal, onProgress: () => stop.abort() }), { name: "AbortError" });
});
