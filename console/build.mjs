// Builds the page into dist. File names are fixed, so that the committed files keep their history.
//
// Each lazily loaded module is a bundle of its own that shares no state with the app: the app imports it by its address.
import { build } from "esbuild";
import { copyFile, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";

const budget = 122_000;
const out = "dist";

// lazy are the modules that only some views need, as src/lazy/NAME.ts: the app imports "./NAME.js".
const lazy = existsSync("src/lazy") ? (await readdir("src/lazy")).filter((f) => f.endsWith(".ts") && !f.endsWith(".test.ts")) : [];

const common = {
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
};

await rm(out, { recursive: true, force: true });
await mkdir(out);
await build({ ...common, entryPoints: { app: "src/main.tsx" }, outdir: out });
await build({ ...common, entryPoints: lazy.map((f) => "src/lazy/" + f), outdir: out });
await build({ ...common, entryPoints: { app: "src/style.css" }, outdir: out });
for (const f of ["index.html", "favicon.svg"]) await copyFile("src/" + f, out + "/" + f);

let total = 0;
for (const f of (await readdir(out)).sort()) {
  const gz = gzipSync(await readFile(`${out}/${f}`), { level: 9 }).length;
  total += gz;
  console.log(`${f.padEnd(16)} ${String((await stat(`${out}/${f}`)).size).padStart(8)} B ${String(gz).padStart(8)} B gzip`);
}
console.log(`${"in all".padEnd(16)} ${" ".repeat(10)} ${String(total).padStart(8)} B gzip of ${budget}`);
if (total > budget) {
  console.error(`the page is ${total - budget} bytes over its budget`);
  process.exit(1);
}
