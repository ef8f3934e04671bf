// Bundles src/**/*.test.ts and runs them with node --test.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const found = (dir) => readdirSync(dir, { recursive: true }).map(String).filter((f) => /\.test\.tsx?$/.test(f)).map((f) => join(dir, f));

const out = mkdtempSync("node_modules/.console-test-");
try {
  await build({
    entryPoints: found("src"),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    external: ["esbuild"],
    format: "esm",
    target: ["node20"],
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = readdirSync(out, { recursive: true }).map(String).filter((f) => f.endsWith(".test.mjs")).map((f) => join(out, f));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...process.argv.slice(2), ...files], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
