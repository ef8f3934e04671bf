// Line diff of two texts, for showing them side by side.

import { diffArrays } from "diff";

export interface Line {
  number: number; // from 1
  text: string;
}

export interface Row {
  kind: "same" | "removed" | "added" | "changed";
  left?: Line;
  right?: Line;
}

/** Unchanged rows that are folded into one. */
export interface Fold {
  kind: "fold";
  rows: Row[];
}

// Past this many differing lines the middle is shown as replaced: time and memory of the comparison grow with the
// square of the differences.
const maxEdits = 1000;

type Edit = "same" | "removed" | "added";

/** Returns the lines of a text. The line feed at the end begins no further line. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

export function diffLines(left: string, right: string): Row[] {
  const a = linesOf(left);
  const b = linesOf(right);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const edits = shortestEdits(a.slice(start, endA), b.slice(start, endB));
  return toRows(a, b, [...Array<Edit>(start).fill("same"), ...edits, ...Array<Edit>(a.length - endA).fill("same")]);
}

/** The shortest edits, or a replaced text past the bound. */
function shortestEdits(a: string[], b: string[]): Edit[] {
  const changes = diffArrays(a, b, { maxEditLength: maxEdits }) ?? [{ removed: true, added: false, count: a.length }, { removed: false, added: true, count: b.length }];
  return changes.flatMap((c) => Array<Edit>(c.count).fill(c.removed ? "removed" : c.added ? "added" : "same"));
}

/** Puts removed lines and the added lines after them side by side. */
function toRows(a: string[], b: string[], edits: Edit[]): Row[] {
  const rows: Row[] = [];
  let x = 0;
  let y = 0;
  let gap = 0; // removed rows since the last unchanged one that wait for added ones begin here
  for (const edit of edits) {
    if (edit === "removed") {
      rows.push({ kind: "removed", left: { number: x + 1, text: a[x++]! } });
      continue;
    }
    const right = { number: y + 1, text: b[y++]! };
    if (edit === "same") {
      rows.push({ kind: "same", left: { number: x + 1, text: a[x++]! }, right });
      gap = rows.length;
      continue;
    }
    while (gap < rows.length && rows[gap]!.kind !== "removed") gap++;
    const removed = rows[gap];
    if (removed) {
      removed.kind = "changed";
      removed.right = right;
    } else {
      rows.push({ kind: "added", right });
    }
  }
  return rows;
}

/** Folds runs of unchanged rows, but for some rows of context around each change. */
export function fold(rows: Row[], context = 3): (Row | Fold)[] {
  const shown = new Uint8Array(rows.length);
  rows.forEach((row, i) => {
    if (row.kind !== "same") shown.fill(1, Math.max(0, i - context), i + context + 1);
  });
  const out: (Row | Fold)[] = [];
  for (let i = 0; i < rows.length; ) {
    let end = i;
    while (end < rows.length && !shown[end]) end++;
    if (end - i > 1) {
      out.push({ kind: "fold", rows: rows.slice(i, end) });
      i = end;
    } else {
      out.push(rows[i]!);
      i++;
    }
  }
  return out;
}

export interface Counts {
  added: number;
  removed: number;
}

export function countChanges(rows: Row[]): Counts {
  const counts = { added: 0, removed: 0 };
  for (const row of rows) {
    if (row.kind === "same") continue;
    if (row.left) counts.removed++;
    if (row.right) counts.added++;
  }
  return counts;
}
