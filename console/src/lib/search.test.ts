import { test } from "node:test";
import assert from "node:assert/strict";
import { search } from "./search";

const skill = (slug: string, description: string, tags: string[] = []) => ({ slug, name: slug, description, tags });

test("every word has to be found, anywhere and in any case", () => {
  const all = [skill("pdf-forms", "Fill in forms", ["Office"]), skill("csv", "Reports"), skill("pdf-merge", "Merge files")];
  const slugs = (q: string) => search(all, q).map((s) => s.slug);
  assert.deepEqual(slugs("PDF"), ["pdf-forms", "pdf-merge"]);
  assert.deepEqual(slugs("pdf  fill"), ["pdf-forms"]);
  assert.deepEqual(slugs("office"), ["pdf-forms"]);
  assert.deepEqual(slugs("pdf nothing"), []);
  assert.equal(search(all, "  "), all);
});

test("what the sidecar has found gives the order, and stands in where no skill has every word", () => {
  const all = ["a", "b", "c"].map((slug) => ({ ...skill(slug, slug === "c" ? "Reports" : "Forms"), path: "skills/" + slug }));
  const slugs = (q: string, paths: string[]) => search(all, q, paths).map((s) => s.slug);
  assert.deepEqual(slugs("forms", ["skills/b", "skills/c"]), ["b", "a"]);
  assert.deepEqual(slugs("fomrs", ["skills/b", "skills/a"]), ["b", "a"]);
  assert.deepEqual(slugs("fomrs", []), []);
});

test("a changed skill is searched as it is now", () => {
  const before = skill("a", "old");
  assert.equal(search([before], "old").length, 1);
  assert.equal(search([{ ...before, description: "new" }], "old").length, 0);
});
