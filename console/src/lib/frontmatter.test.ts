import { test } from "node:test";
import assert from "node:assert/strict";
import { looksLikeText, splitSource } from "./frontmatter";

test("frontmatter ends with its closing line", () => {
  assert.deepEqual(splitSource("---\na: 1\n---\n# B\n---\nc"), { front: "a: 1", body: "# B\n---\nc", bodyLine: 4 });
  assert.deepEqual(splitSource("\uFEFF---\r\na: 1\r\n---\r\nB"), { front: "a: 1", body: "B", bodyLine: 4 });
});

test("a text without frontmatter is all body, one without an end has none", () => {
  assert.deepEqual(splitSource("# B\n---\n"), { front: "", body: "# B\n---\n", bodyLine: 1 });
  assert.deepEqual(splitSource("---\na: 1\nb"), { front: "a: 1\nb", body: "", bodyLine: 4 });
});

test("bytes are not text", () => {
  assert.equal(looksLikeText("plain text, also with one \uFFFD in a hundred characters ".padEnd(200, ".")), true);
  assert.equal(looksLikeText("PK\u0003\u0004\0\0"), false);
  assert.equal(looksLikeText("\uFFFDPNG\uFFFD\uFFFD"), false);
  assert.equal(looksLikeText(""), true);
});
