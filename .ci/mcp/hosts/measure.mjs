// Measures what a model in each host sees of the skills of a workspace:
//
//   node measure.mjs PANNIER CORPUS DOCUMENT SECONDS [--update]
//
// Each host runs with a model on loopback that records its requests (stub.mjs), with 5, 39 and 191 skills of the corpus. While the host
// waits for the first answer, another skill is dropped into the workspace; then the model calls activate_skill until a further request
// shows that skill, three times at most. The result is a table, which must be that of the document; --update writes it there. A host that is not
// measured within so many seconds, as on a busy machine, is not compared.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hosts, prompt } from "./hosts.mjs";
import { serve } from "./stub.mjs";

const [pannier, corpus, file, seconds, update] = process.argv.slice(2);
const sizes = [5, 39, 191];
const atOnce = 3;
const remaining = () => Number(seconds) * 1000 - performance.now();
const noticed = 1_500; // how long a host gets to read the lists again, before each call
const calls = 3;
const late = { name: "added-later", description: "Translates messages of the harbour master into flags." };
const pathsSentence = "Relative paths in this skill are relative to the skill directory";

const work = mkdtempSync(join(tmpdir(), "mcp-hosts-"));
const modules = join(import.meta.dirname, "node_modules");
process.on("exit", () => (endOthers(work), rmSync(work, { recursive: true, force: true })));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

function fail(message) {
  console.error(message);
  process.exit(1);
}

// run runs a command to its end and returns its output.
function run(command, options, timeout = remaining()) {
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"], ...options });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    const timer = setTimeout(() => child.kill("SIGKILL"), Math.max(timeout, 0));
    child.on("error", (error) => (clearTimeout(timer), resolve({ code: -1, output: String(error) })));
    child.on("exit", (code) => (clearTimeout(timer), resolve({ code, output })));
  });
}

// endOthers ends the processes that hosts leave behind, which are those with a home below a directory.
function endOthers(dir) {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").some((variable) => variable.startsWith(`HOME=${dir}`))) process.kill(Number(pid), "SIGKILL");
    } catch {} // it has ended, or is another user's
  }
}

// skillsOf returns usable skills of the corpus by their slugs, each with the file that it was read from.
async function skillsOf(dir) {
  const all = join(work, "all");
  const found = new Map();
  for (const path of readdirSync(dir, { recursive: true }).filter((path) => basename(path) === "SKILL.md").sort()) {
    const name = basename(dirname(path));
    if (!/^[a-z][a-z0-9-]*$/.test(name) || /-[0-9a-f]{8}$/.test(name) || found.has(name)) continue;
    found.set(name, join(dir, path));
    mkdirSync(join(all, "skills", name), { recursive: true });
    cpSync(join(dir, path), join(all, "skills", name, "SKILL.md"));
  }
  const { code, output } = await run([pannier, "list", "--json", "--workspace", all, "--socket", join(work, "none")], { env: { PATH: process.env.PATH, HOME: work } });
  if (code !== 0) fail(output);
  return JSON.parse(output.slice(output.indexOf("{")))
    .skills.filter((s) => s.usable && !s.disable_model_invocation && s.description && s.name === s.slug && basename(s.path) === s.slug)
    .map(({ slug, description }) => ({ slug, description: description.replace(/\s+/g, " ").trim(), file: found.get(slug) }));
}

// seenOf says what a request has of skills.
function seenOf(request, skills) {
  const text = [request.system, ...request.results, ...request.tools.map((tool) => tool.description)].join("\n");
  const listed = [...text.matchAll(/Skills of this project: ([^\n"]*)/g)].flatMap(([, line]) => line.replace(/ and \d+ more$/, "").split(", "));
  const names = new Set([...listed, ...(activateOf(request)?.schema?.properties?.name?.enum ?? [])]);
  const described = (s) => text.includes(`- ${s.slug}: ${s.description.slice(0, 12)}`);
  return { named: skills.filter((s) => names.has(s.slug)).map((s) => s.slug), described: skills.filter(described).map((s) => s.slug) };
}

// shown is a request without the texts of skills, which may name others.
const shown = (request) => ({ ...request, results: request.results.filter((result) => !result.includes(pathsSentence)) });

const activateOf = ({ tools }) => tools.find((tool) => /(pannier|^)_*activate_skill$/.test(tool.name) && /Skills of this project|_pannier|pannier_/.test(tool.name + tool.description));

// nextCall returns what the model does about a request: it calls activate_skill, by the search for tools where the host hides it.
function nextCall(request, name) {
  const activate = activateOf(request);
  if (activate) return { name: activate.name, namespace: activate.namespace, arguments: { name } };
  const hidden = request.system.match(/\w*pannier\w*activate_skill/)?.[0];
  const bridge = request.tools.some((tool) => tool.name === "tool_call");
  if (!hidden || !bridge) return "Done.";
  return request.results.length === 0
    ? { name: "tool_search", arguments: { query: `select:${hidden}` } }
    : { name: "tool_call", arguments: { name: hidden, arguments: { name } } };
}

// measure runs a host with skills and returns what its model has seen.
async function measure(host, skills) {
  const home = join(work, `${skills.length}-${host.name.replace(/\W/g, "")}-`);
  const workspace = join(home, "agent");
  const drop = (slug, text) => {
    mkdirSync(join(workspace, "skills", slug), { recursive: true });
    writeFileSync(join(workspace, "skills", slug, "SKILL.md"), text);
  };
  for (const { slug, file } of skills) drop(slug, readFileSync(file));
  const all = [...skills, { slug: late.name, description: late.description }];
  const requests = [];
  const model = await serve(async (request) => {
    if (!request.system.includes(prompt) || request.tools.length === 0) return "A title";
    requests.push(request);
    if (requests.length === 1) drop(late.name, `---\nname: ${late.name}\ndescription: ${late.description}\n---\nHoist them.\n`);
    if (requests.length > calls || (requests.length > 1 && seenOf(shown(request), all).named.includes(late.name))) return "Done.";
    await sleep(noticed);
    return nextCall(request, skills[0].slug);
  });
  const url = `http://127.0.0.1:${model.port}`;
  const server = [pannier, "mcp", "--workspace", workspace];
  for (const [name, text] of Object.entries({ "project/README.md": "A project.\n", ...host.files(server, url) })) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const env = { PATH: `${join(modules, ".bin")}:${process.env.PATH}`, HOME: home, LANG: "C.UTF-8", NO_COLOR: "1", ...host.env?.(url) };
  const { output: log } = await run(host.command, { cwd: join(home, "project"), env });
  model.close();
  endOthers(home);
  if (remaining() <= 0) return;
  if (requests.length === 0) fail(`${host.name} asked nothing of the model: ${log}`);
  const last = requests.at(-1);
  const body = readFileSync(skills[0].file, "utf8").split("\n").filter((line) => line.length > 20).at(-1);
  const results = last.results.find((result) => result.includes(pathsSentence)) ?? last.results.join("\n");
  const times = Math.max(results.split(JSON.stringify(body).slice(1, -1)).length, results.split(body).length) - 1;
  const start = seenOf(requests[0], all);
  const end = seenOf(shown(last), all);
  return {
    named: start.named.length, described: start.described.length,
    late: end.described.includes(late.name) ? "described" : end.named.includes(late.name) ? "named" : "not seen",
    text: times === results.split(pathsSentence).length - 1 ? times : `${times}, paths ${results.split(pathsSentence).length - 1}`,
  };
}

const usable = await skillsOf(corpus);
const sets = sizes.map((size) => Array.from({ length: size }, (_, i) => usable[Math.floor((i * usable.length) / size)]));
const results = new Map(hosts.map((host) => [host.name, []]));
const jobs = hosts.flatMap((host) => sets.map((skills, at) => ({ host, skills, at })));
const began = performance.now();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let job = jobs.shift(); job && remaining() > 0; job = jobs.shift()) {
      const from = performance.now();
      const result = await measure(job.host, job.skills);
      if (!result) continue;
      results.get(job.host.name)[job.at] = result;
      console.log(`${job.host.name}, ${job.skills.length} skills, ${Math.round((performance.now() - from) / 100) / 10} s: ${JSON.stringify(result)}`);
    }
  }),
);
console.log(`${Math.round((performance.now() - began) / 1000)} s`);
const measured = hosts.filter((host) => results.get(host.name).filter(Boolean).length === sizes.length);
for (const host of hosts.filter((host) => !measured.includes(host))) console.error(`${host.name} was not measured: out of time`);
if (update && measured.length < hosts.length) fail("too few hosts were measured in time");

// The table: a figure for each number of skills, or one word where they agree.
const words = { 0: "not handed on", 1: "once", 2: "twice" };
const figures = (values) => values.join(", ");
const agreed = (values) => (new Set(values).size === 1 ? String(values[0]) : figures(values));
const rows = measured.map((host) => {
  const { version } = JSON.parse(readFileSync(join(modules, host.package, "package.json"), "utf8"));
  const of = results.get(host.name);
  return [host.name, version, figures(of.map((r) => r.named)), figures(of.map((r) => r.described)), agreed(of.map((r) => r.late)), agreed(of.map((r) => words[r.text] ?? r.text))];
});
const listed = (await run([pannier, "mcp", "--print-config"], { env: {} })).output.trim().split("\n").slice(1).map((line) => line.split(/ {2,}/)[1]);
const others = listed.filter((name) => !hosts.some((host) => host.name === name)).map((name) => [name, "not measured", "", "", "", ""]);
const head = ["host", "measured version", "named", "described", "added skill", "text of a skill"];
const table = [head, ...rows, ...others].map((cells) => `| ${cells.join(" | ")} |\n`.replaceAll("|  ", "| ")).toSpliced(1, 0, "|---|---|---|---|---|---|\n").join("");
console.log(table);

const document = readFileSync(file, "utf8");
const old = document.match(/^\| host \| measured version .*\n(\|.*\n)*/m)?.[0];
if (update === "--update") {
  writeFileSync(file, document.replace(old, () => table));
} else {
  const lines = old.split("\n");
  const wrong = table.split("\n").filter((line) => !lines.includes(line));
  if (wrong.length > 0) fail(`${file} has other lines than\n${wrong.join("\n")}\nrun ".ci/mcp/hosts/check --update" if the change is wanted`);
}
process.exit(0);
