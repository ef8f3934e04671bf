import assert from "node:assert/strict";
import { test } from "node:test";
import { collect, excess, fromFiles, maxSeen, TooManyFiles, type Node } from "./collect";

type Tree = { [name: string]: Tree | string };

function node(name: string, tree: Tree | string): Node {
  const isDir = typeof tree !== "string";
  return {
    name,
    isDir,
    children: async () => (isDir ? Object.entries(tree).map(([n, t]) => node(n, t)) : []),
    file: async () => new Blob([tree as string]),
  };
}

const nodes = (tree: Tree): Node[] => Object.entries(tree).map(([name, t]) => node(name, t));
const skill: Tree = { "SKILL.md": "x", scripts: { "run.sh": "#!/bin/sh" } };

test("one folder is one skill", async () => {
  const found = await collect(nodes({ pdf: skill }));
  assert.deepEqual(found.skills.map((s) => [s.folder, s.from, s.files.map((f) => f.path), s.bytes]), [["pdf", "pdf", ["SKILL.md", "scripts/run.sh"], 10]]);
});

test("skills are found below folders, and a skill within a skill is its content", async () => {
  const found = await collect(nodes({ all: { a: skill, more: { b: { "SKILL.md": "x", c: skill } }, "README.md": "beside" } }));
  assert.deepEqual(found.skills.map((s) => s.from), ["all/a", "all/more/b"]);
  assert.equal(found.skills[1]!.files.length, 3);
  assert.deepEqual(found.beside, ["all/README.md"]);
});

test("equal names of folders become unique", async () => {
  const found = await collect(nodes({ x: { pdf: skill }, y: { PDF: skill } }));
  assert.deepEqual(found.skills.map((s) => s.folder), ["pdf", "PDF-2"]);
});

test("what is left out is said", async () => {
  const found = await collect(nodes({ pdf: { ...skill, ".env": "SECRET", ".git": { config: "" }, node_modules: { x: { "a.js": "" } }, ".clawhubignore": "*.log\n", logs: { "a.log": "" } } }));
  const got = found.skills[0]!;
  assert.deepEqual(got.files.map((f) => f.path), [".clawhubignore", "SKILL.md", "scripts/run.sh"]);
  assert.deepEqual(got.leftOut.map((l) => [l.path, l.reason]), [[".env", "hidden"], [".git/", "vcs"], ["node_modules/", "skipped"], ["logs/a.log", "ignored"]]);
});

test("a hidden folder is entered if it was dropped itself, else named", async () => {
  assert.equal((await collect(nodes({ ".claude": { skills: { a: skill } } }))).skills.length, 1);
  const found = await collect(nodes({ project: { ".claude": { skills: { a: skill } } } }));
  assert.deepEqual([found.skills.length, found.notSearched, found.empty], [0, ["project/.claude/"], ["project"]]);
});

test("archives, also within folders, and a SKILL.md alone", async () => {
  const found = await collect(nodes({ "a.zip": "", down: { "b.tar.gz": "", "c.skill": "" }, "skill.md": "x", "photo.png": "" }));
  assert.deepEqual(found.archives.map((a) => a.name), ["a.zip", "b.tar.gz", "c.skill"]);
  assert.deepEqual(found.skills.map((s) => [s.folder, s.files[0]!.path]), [["", "SKILL.md"]]);
  assert.deepEqual(found.beside, ["photo.png"]);
  assert.deepEqual(found.empty, []);
});

test("a huge tree ends the walk", async () => {
  const many: Tree = Object.fromEntries(Array.from({ length: maxSeen + 1 }, (_, i) => [`f${i}`, ""]));
  await assert.rejects(collect(nodes({ home: many })), TooManyFiles);
});

test("the files of a folder picker", async () => {
  const pick = (path: string): File => Object.assign(new File(["x"], path.split("/").pop()!), { webkitRelativePath: path });
  const found = await collect(fromFiles([pick("pdf/SKILL.md"), pick("pdf/a/b.md")]));
  assert.deepEqual(found.skills[0]!.files.map((f) => f.path), ["SKILL.md", "a/b.md"]);
});

test("what the sidecar would refuse is found before anything is sent", async () => {
  const limits = { entries: 3, fileBytes: 10, totalBytes: 15 };
  const of = async (t: Tree) => excess((await collect(nodes({ s: { "SKILL.md": "x", ...t } }))).skills[0]!, limits);
  assert.equal(await of({ "a.md": "" }), undefined);
  assert.deepEqual(await of({ a: { "1": "", "2": "" } }), { kind: "entries", skill: "s", count: 4, limit: 3, largest: "a/" });
  assert.deepEqual(await of({ "a.bin": "12345678901" }), { kind: "file", skill: "s", path: "a.bin", bytes: 11, limit: 10 });
  assert.deepEqual(await of({ "a.bin": "1234567890", "b.bin": "12345" }), { kind: "total", skill: "s", bytes: 16, limit: 15, largest: "a.bin" });
});
