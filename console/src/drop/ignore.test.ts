import assert from "node:assert/strict";
import { test } from "node:test";
import { byName, IgnoreRules, matchPart } from "./ignore";

const cases: [string, string, string, boolean][] = [
  ["a name matches in any directory", "*.png", "a/b/c.PNG", true],
  ["a slash ties the pattern to the top", "/a.txt", "b/a.txt", false],
  ["a slash within does, too", "b/*.txt", "x/b/a.txt", false],
  ["a directory takes what is below it", "build/", "x/build/deep/file", true],
  ["a pattern of directories spares a file", "build/", "x/build", false],
  ["the last match decides", "*.md\n!README.md", "README.md", false],
  ["nothing below a left out directory comes back", "build/\n!build/keep", "build/keep", true],
  ["two stars are any number of directories", "a/**/z", "a/b/c/z", true],
  ["also none", "a/**/z", "a/z", true],
  ["two stars at the end are what lies below", "a/**", "a/b", true],
  ["a comment matches nothing", "# a", "# a", false],
  ["an escaped number sign does", "\\#a", "#a", true],
  ["braces have no meaning", "{a,b}", "a", false],
  ["a class", "[a-c]x", "bx", true],
  ["a negated class", "[!a-c]x", "bx", false],
  ["a class without an end", "[abc", "a", false],
  ["carriage returns are removed", "a.txt\r\nb.txt\r", "b.txt", true],
];

for (const [name, patterns, path, ignored] of cases) {
  test(`.clawhubignore: ${name}`, () => assert.equal(new IgnoreRules(patterns).ignores(path), ignored));
}

test("a hostile pattern ends soon", () => {
  assert.equal(matchPart("*a".repeat(200) + "b", "a".repeat(5000)), false);
  assert.equal(new IgnoreRules("**/a/".repeat(100) + "b").ignores("a/".repeat(300) + "c"), false);
});

test("more than 1,000 patterns are cut", () => {
  assert.equal(new IgnoreRules("x\n".repeat(1001)).cut, true);
  assert.equal(new IgnoreRules("x\n".repeat(1000)).cut, false);
});

test("names that are left out", () => {
  assert.equal(byName(".env", false), "hidden");
  assert.equal(byName(".gitignore", false), undefined);
  assert.equal(byName(".git", true), "vcs");
  assert.equal(byName("CVS", true), "vcs");
  assert.equal(byName("CVS", false), undefined);
  assert.equal(byName("node_modules", true), "skipped");
  assert.equal(byName("node_modules", true, []), undefined);
  assert.equal(byName("._SKILL.md", false), "desktop");
  assert.equal(byName("a.md", false), undefined);
});
