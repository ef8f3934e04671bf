// Uses a sidecar with the clients of the TypeScript SDK, version 1 and version 2 in both eras, as a host would:
//
//   node clients.mjs WORKSPACE http URL [TOKENFILE]
//   node clients.mjs WORKSPACE stdio COMMAND [ARGUMENT...]
//
// It lists, reads and verifies every skill, drops one into the workspace and waits for the notification.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHTTPTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  PromptListChangedNotificationSchema, ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { parse } from "yaml";

const [workspace, kind, target, ...rest] = process.argv.slice(2);
const info = { name: "pannier-check", version: "1.0.0" };

function transport(HTTP, Stdio) {
  if (kind === "stdio") return new Stdio({ command: target, args: rest, env: process.env, stderr: "inherit" });
  const headers = rest[0] ? { Authorization: "Bearer " + readFileSync(rest[0], "utf8").trim() } : {};
  return new HTTP(new URL(target), { requestInit: { headers } });
}

// signals counts notifications by their kind, and waits for the next one.
function signals() {
  const seen = new Map();
  const waiting = new Map();
  return {
    note: (kind) => {
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
      waiting.get(kind)?.();
    },
    count: (kind) => seen.get(kind) ?? 0,
    next: (kind) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no notification of ${kind} within 10 s`)), 10_000);
        waiting.set(kind, () => (clearTimeout(timer), resolve()));
      }),
  };
}

const dropped = (name) => join(workspace, "skills", name);

function drop(name, text = "Say so.") {
  mkdirSync(join(dropped(name), "refs"), { recursive: true });
  writeFileSync(join(dropped(name), "refs", "notes.md"), "Notes.\n");
  writeFileSync(join(dropped(name), "SKILL.md"), `---\nname: ${name}\ndescription: A skill that came later.\nversion: 1.0\nvalues: {z: 010, a: yes, when: 2026-01-01}\n---\n${text}\n`);
}

// measured waits for notifications that a change causes, and returns how long the slowest took.
async function measured(heard, kinds, change) {
  const next = Promise.all(kinds.map(heard.next));
  const begun = performance.now();
  change();
  await next;
  return Math.round(performance.now() - begun);
}

// standard uses what every client has. The clients of both versions have the same methods for it.
async function standard(client, skills) {
  const tools = (await client.listTools()).tools;
  const activate = tools.find((tool) => tool.name === "activate_skill");
  assert.deepEqual(activate.inputSchema.properties.name.enum, skills);
  assert.equal(activate.annotations.readOnlyHint, true);
  const active = await client.callTool({ name: "activate_skill", arguments: { name: skills[0] } });
  assert.ok(active.content[0].text.length > 0 && !active.isError);
  const unknown = await client.callTool({ name: "activate_skill", arguments: { name: "nothing" } }).catch((error) => ({ isError: true, error }));
  assert.equal(unknown.isError, true);
  const resources = (await client.listResources()).resources;
  assert.ok(resources.length >= 3 && resources.every((r) => r.uri.startsWith("skill://") && r.uri.endsWith("/SKILL.md") && r.mimeType === "text/markdown"));
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.equal(Buffer.byteLength(contents[0].text), resources[0].size);
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
  await assert.rejects(client.readResource({ uri: "skill://nothing/SKILL.md" }));
  await assert.rejects(client.readResource({ uri: "skill://csv-report/../pdf-forms/SKILL.md" }));
  const prompts = (await client.listPrompts()).prompts;
  assert.ok(prompts.length >= skills.length);
  const prompt = await client.getPrompt({ name: prompts[0].name, arguments: { args: "of 2026" } });
  assert.ok(prompt.messages[0].content.text.includes("of 2026"));
}

// extension lists, gets and verifies every file of every skill, and every directory.
async function extension(skills) {
  const { skills: listed, invalid } = await skills.list();
  // The metadata of OpenClaw is no map of texts, as the Agent Skills specification has it, and the SDK goes by that.
  assert.deepEqual(invalid.map((entry) => [entry.uri, entry.reason]), [["skill://pdf-forms/SKILL.md", "frontmatter metadata must map strings to strings"]]);
  let files = 0;
  for (const skill of listed) {
    assert.deepEqual((await skills.get(skill.uri)).skill, skill);
    for (const { uri } of skill.resources) {
      const file = await skills.read(skill, uri);
      assert.ok(file.verified);
      files++;
    }
    const root = skill.uri.slice(0, -"/SKILL.md".length);
    const { resources } = await skills.readDirectory(root);
    assert.ok(resources.some((r) => r.uri === skill.uri));
    for (const directory of resources.filter((r) => r.mimeType === "inode/directory")) {
      assert.ok((await skills.readDirectory(directory.uri)).resources.length > 0);
    }
  }
  await assert.rejects(skills.get("skill://nothing/SKILL.md"), { code: -32602 });
  return { listed, files };
}

async function checkNew(era) {
  const heard = signals();
  const listChanged = {};
  for (const list of ["tools", "prompts", "resources"]) listChanged[list] = { autoRefresh: false, debounceMs: 0, onChanged: () => heard.note(list) };
  const client = new Client(info, { versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: era } }, listChanged });
  client.setNotificationHandler("notifications/resources/updated", () => heard.note("updated"));
  await client.connect(transport(StreamableHTTPClientTransport, StdioClientTransport));
  const version = client.getNegotiatedProtocolVersion();
  assert.equal(version, era === "legacy" ? "2025-11-25" : era);
  const skills = new SkillsClient(client, { parseFrontmatter: (text) => parse(text), skipInvalid: true });
  assert.ok(skills.supported && skills.directoryRead);
  const before = await extension(skills);
  await standard(client, (await client.listTools()).tools.find((t) => t.name === "activate_skill").inputSchema.properties.name.enum);

  const name = `later-${version}`;
  const took = await measured(heard, ["tools", "prompts", "resources"], () => drop(name));
  const after = await extension(skills);
  assert.equal(after.listed.length, before.listed.length + 1);
  const skill = after.listed.find((s) => s.uri === `skill://${name}/SKILL.md`);
  assert.deepEqual(skill.frontmatter.values, { z: 10, a: "yes", when: "2026-01-01" });
  assert.equal(skill.resources.length, 2);

  // A file that changes: what was listed does not fit any more, and skills/get has what does.
  const notes = `skill://${name}/refs/notes.md`;
  const subscription = era === "legacy" ? await client.subscribeResource({ uri: notes }) : await client.listen({ resourceSubscriptions: [notes] });
  const updated = await measured(heard, ["updated"], () => writeFileSync(join(dropped(name), "refs", "notes.md"), "Other notes.\n"));
  await assert.rejects(skills.read(skill, notes), { name: "SkillVerificationError" });
  const { skill: now } = await skills.get(skill.uri);
  assert.equal((await skills.read(now, notes)).text, "Other notes.\n");
  if (era !== "legacy") await subscription.close();

  const gone = await measured(heard, ["tools", "prompts", "resources"], () => rmSync(dropped(name), { recursive: true }));
  await assert.rejects(skills.get(skill.uri), { code: -32602 });
  await client.close();
  console.log(`TypeScript SDK 2, ${kind}, ${version}: ${before.listed.length} skills with ${before.files} files verified; a skill came after ${took} ms, a file changed after ${updated} ms, the skill was gone after ${gone} ms`);
}

async function checkOld() {
  const heard = signals();
  const client = new OldClient(info);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard.note("tools"));
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => heard.note("prompts"));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => heard.note("resources"));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => heard.note("updated"));
  await client.connect(transport(OldHTTPTransport, OldStdioTransport));
  const enumOf = async () => (await client.listTools()).tools.find((t) => t.name === "activate_skill").inputSchema.properties.name.enum;
  await standard(client, await enumOf());
  const name = "later-sdk-1";
  const took = await measured(heard, ["tools", "prompts", "resources"], () => drop(name));
  assert.ok((await enumOf()).includes(name));
  const uri = `skill://${name}/SKILL.md`;
  assert.ok((await client.listResources()).resources.some((r) => r.uri === uri));
  await client.subscribeResource({ uri });
  const updated = await measured(heard, ["updated"], () => drop(name, "Say something else."));
  assert.match((await client.readResource({ uri })).contents[0].text, /something else/);
  const gone = await measured(heard, ["tools", "prompts", "resources"], () => rmSync(dropped(name), { recursive: true }));
  assert.ok(!(await enumOf()).includes(name));
  await client.close();
  console.log(`TypeScript SDK 1, ${kind}: a skill came after ${took} ms, its text changed after ${updated} ms, it was gone after ${gone} ms`);
}

await checkOld();
await checkNew("legacy");
await checkNew("2026-07-28");
process.exit(0);
