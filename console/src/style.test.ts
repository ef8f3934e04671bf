import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

// Classes that only name a part, for tests and scripts.
const names = new Set("action activity audit card-view difference difference-of-drop done events gone needs offer problems skill summary tabs turn version versions-line".split(" "));

test("each class of the page has a rule in the stylesheet", () => {
  const css = readFileSync("src/style.css", "utf8");
  const ruled = new Set(Array.from(css.matchAll(/\.([a-z][\w-]*)/g), (m) => m[1]!));
  const files = readdirSync("src", { recursive: true }).map(String).filter((f) => f.endsWith(".tsx") && !f.endsWith(".test.tsx"));
  const used = new Set(files.flatMap((f) => Array.from(readFileSync("src/" + f, "utf8").matchAll(/\bclass="([^"]+)"/g), (m) => m[1]!.split(" ")).flat()));
  assert.ok(used.size > 100, `${used.size} classes were found`);
  assert.deepEqual([...used].filter((c) => !ruled.has(c) && !names.has(c)), []);
});
