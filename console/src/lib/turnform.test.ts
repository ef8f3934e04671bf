import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyForm, isEmpty, splitTools, turnOf } from "./turnform";

test("an empty form is an empty turn", () => {
  assert.deepEqual(turnOf(emptyForm), {});
  assert.ok(isEmpty({ ...emptyForm, text: " \n", paths: "\n \n", capabilities: " , " }));
});

test("no tools is something else than unknown tools", () => {
  assert.deepEqual(turnOf({ ...emptyForm, noTools: true, tools: "Read" }), { tools: [] });
  assert.ok(!isEmpty({ ...emptyForm, noTools: true }));
});

test("tools are split outside of parentheses", () => {
  assert.deepEqual(splitTools("Read, Bash(git add:*, git rm:*)\nWrite,,Read"), ["Read", "Bash(git add:*, git rm:*)", "Write"]);
  assert.deepEqual(splitTools("Bash(git\nRead, Write"), ["Bash(git", "Read", "Write"], "an open parenthesis ends with its line");
});

test("every field reaches the turn; the text as it was typed", () => {
  const form = { text: " /skill:pdf a ", paths: "a b.go\nc.go\na b.go", projectDir: " /app ", tools: "Read", noTools: false, capabilities: "pdf, acme/csv\npdf", runtime: "langgraph" };
  assert.deepEqual(turnOf(form, "compact"), {
    text: " /skill:pdf a ",
    paths: ["a b.go", "c.go"],
    project_dir: "/app",
    tools: ["Read"],
    capabilities: [{ id: "pdf", slug: "pdf" }, { id: "acme/csv", slug: "acme/csv" }],
    runtime: "langgraph",
    format: "compact",
  });
});
