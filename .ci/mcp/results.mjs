// Compares the results of the conformance suite with expected.yaml: node results.mjs DIR, where DIR/TRANSPORT/ERA has the
// results of one run. It prints what is unexpected and exits with 1 if there is something.
import { globSync, readFileSync } from "node:fs";
import { parse } from "yaml";

const dir = process.argv[2];
const expected = new Map();
for (const { reason, era, checks } of parse(readFileSync("expected.yaml", "utf8"))) {
  for (const check of checks) expected.set(era ? `${era} ${check}` : check, { reason, era, found: false });
}

let failed = false;
const complain = (text) => {
  console.error(text);
  failed = true;
};

const counts = new Map();
for (const file of globSync(`${dir}/*/*/*/checks.json`)) {
  const [transport, era, run] = file.slice(dir.length + 1).split("/");
  const scenario = run.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
  const passed = counts.get(`${transport} ${era}`) ?? new Set();
  counts.set(`${transport} ${era}`, passed);
  for (const { id, status, errorMessage } of JSON.parse(readFileSync(file, "utf8"))) {
    if (status === "INFO") continue;
    const check = `${scenario}:${id}`;
    const expectation = expected.get(`${era} ${check}`) ?? expected.get(check);
    if (expectation && status !== "SUCCESS") expectation.found = true;
    if (expectation && status === "SUCCESS") complain(`${transport} ${era}: ${check} passes; remove it from expected.yaml`);
    if (!expectation && status !== "SUCCESS") complain(`${transport} ${era}: ${check}: ${status}: ${errorMessage}`);
    if (status === "SUCCESS") passed.add(check);
  }
}
for (const [check, { found }] of expected) {
  if (!found) complain(`${check} is in expected.yaml and was not run`);
}
// What the suite stops to run must not pass unnoticed.
const required = ["sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory", "tools-list", "resources-list", "prompts-list", "prompts-get-simple"];
for (const transport of ["tcp", "socket"]) {
  for (const era of ["2025-11-25", "2026-07-28"]) {
    const passed = counts.get(`${transport} ${era}`) ?? new Set();
    for (const scenario of required) {
      if (![...passed].some((check) => check.startsWith(scenario + ":"))) complain(`${transport} ${era}: ${scenario} was not run`);
    }
    console.log(`conformance, ${transport}, ${era}: ${passed.size} checks pass`);
  }
}
console.log(`${expected.size} checks do not apply, by expected.yaml`);
process.exit(failed ? 1 : 0);
