import assert from "node:assert/strict";
import { test } from "node:test";
import { countChanges, diffLines, fold, linesOf, type Row } from "./linediff";

const sides = (rows: Row[]) => ({
  left: rows.filter((r) => r.left).map((r) => r.left!.text),
  right: rows.filter((r) => r.right).map((r) => r.right!.text),
});

test("rows hold both texts in order, with their line numbers", () => {
  // Fixed seed: a failure can be repeated.
  let seed = 7;
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  for (let i = 0; i < 400; i++) {
    const make = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]).join("\n");
    const left = make();
    const right = make();
    const rows = diffLines(left, right);
    assert.deepEqual(sides(rows), { left: linesOf(left), right: linesOf(right) });
    assert.deepEqual(rows.filter((r) => r.left).map((r) => r.left!.number), linesOf(left).map((_, n) => n + 1));
    assert.deepEqual(rows.filter((r) => r.right).map((r) => r.right!.number), linesOf(right).map((_, n) => n + 1));
    for (const r of rows) {
      assert.equal(r.kind, !r.left ? "added" : !r.right ? "removed" : r.left.text === r.right.text ? "same" : "changed");
    }
    const same = rows.filter((r) => r.kind === "same").length;
    assert.equal(same, longestCommon(linesOf(left), linesOf(right)), `${left}\n--\n${right}`);
  }
});

function longestCommon(a: string[], b: string[]): number {
  const best = Array.from({ length: a.length + 1 }, () => Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  return best[0]![0]!;
}

test("a skill that leaves the prompt is removed lines only", () => {
  const before = "[Skills]\n- pdf\n  Use when: forms\n- csv\n  Use when: tables\n\nCall read_skill.\n";
  const after = "[Skills]\n- csv\n  Use when: tables\n\nCall read_skill.\n";
  const rows = diffLines(before, after);
  assert.deepEqual(countChanges(rows), { added: 0, removed: 2 });
  assert.deepEqual(rows.filter((r) => r.kind === "removed").map((r) => r.left!.text), ["- pdf", "  Use when: forms"]);
});

test("an edited line stands beside its old text", () => {
  const rows = diffLines("a\nold\nz", "a\nnew\nz");
  assert.deepEqual(rows.map((r) => r.kind), ["same", "changed", "same"]);
  assert.deepEqual(rows[1], { kind: "changed", left: { number: 2, text: "old" }, right: { number: 2, text: "new" } });
});

test("texts that share nothing are compared in bounded time", () => {
  const many = (mark: string) => Array.from({ length: 20_000 }, (_, i) => mark + i).join("\n");
  const rows = diffLines(many("a"), many("b"));
  assert.equal(rows.length, 20_000);
  assert.ok(rows.every((r) => r.kind === "changed"));
});

test("unchanged runs are folded around the changes", () => {
  const text = Array.from({ length: 40 }, (_, i) => String(i));
  const edited = text.map((line, i) => (i === 20 ? "x" : line));
  const folded = fold(diffLines(text.join("\n"), edited.join("\n")), 3);
  assert.deepEqual(folded.map((r) => (r.kind === "fold" ? `fold ${r.rows.length}` : r.kind)),
    ["fold 17", "same", "same", "same", "changed", "same", "same", "same", "fold 16"]);
  const one = fold(diffLines("a\nb", "a\nc"), 0);
  assert.deepEqual(one.map((r) => r.kind), ["same", "changed"], "a fold of one row hides nothing");
});
