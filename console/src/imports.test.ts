import assert from "node:assert/strict";
import { build } from "esbuild";
import { test } from "node:test";

test("no module imports itself through others", async () => {
  const { metafile } = await build({ entryPoints: ["src/main.tsx"], bundle: true, write: false, metafile: true, jsx: "automatic", jsxImportSource: "preact", logLevel: "silent" });
  const done = new Set<string>();
  const walk = (file: string, path: string[]): void => {
    assert.ok(!path.includes(file), `circle of imports: ${[...path.slice(path.indexOf(file)), file].join(" → ")}`);
    if (done.has(file)) return;
    for (const next of metafile.inputs[file]!.imports) if (next.path.startsWith("src/")) walk(next.path, [...path, file]);
    done.add(file);
  };
  walk("src/main.tsx", []);
  assert.ok(done.size > 50, `${done.size} modules were found`);
});
