import { useEffect, useMemo, useState } from "preact/hooks";
import { countChanges, diffLines, fold, type Fold, type Line, type Row } from "../lib/linediff";
import { S } from "../strings";

/** maxLines bounds what is shown of a text: the page must stay quick. */
export const maxLines = 5000;

/** SideBySide shows two texts beside each other, with unchanged parts folded. */
export function SideBySide({ before, after, names = [S.turn.before, S.turn.now] }: { before: string; after: string; names?: readonly [string, string] }) {
  const [open, unfold] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(() => diffLines(before, after), [before, after]);
  const folded = useMemo(() => fold(rows), [rows]);
  useEffect(() => unfold(new Set()), [folded]);
  const counts = countChanges(rows);
  const shown = folded.slice(0, maxLines);
  return (
    <>
      <p class="hint" aria-live="polite">{S.turn.changes(counts.added, counts.removed)}</p>
      <div class="diff" role="region" aria-label={S.turn.difference} tabIndex={0}>
        <div class="diff-head"><span>{names[0]}</span><span>{names[1]}</span></div>
        {shown.flatMap((row, i) => (row.kind !== "fold" ? [<DiffRow key={i} row={row} />] : open.has(i) ? row.rows.map((r, j) => <DiffRow key={`${i}.${j}`} row={r} />) : [<FoldRow key={i} fold={row} open={() => unfold(new Set([...open, i]))} />]))}
      </div>
      {folded.length > maxLines && <p class="hint">{S.turn.cutDiff(maxLines)}</p>}
    </>
  );
}

function FoldRow({ fold: { rows }, open }: { fold: Fold; open: () => void }) {
  return <button type="button" class="diff-fold" onClick={open}>{S.turn.unchanged(rows.length)}</button>;
}

function DiffRow({ row }: { row: Row }) {
  return (
    <div class={`diff-row ${row.kind}`}>
      <Side line={row.left} mark={row.kind === "same" ? "" : "−"} word={S.turn.removedLine} side="left" />
      <Side line={row.right} mark={row.kind === "same" ? "" : "+"} word={S.turn.addedLine} side="right" />
    </div>
  );
}

function Side({ line, mark, word, side }: { line?: Line; mark: string; word: string; side: string }) {
  if (!line) return <div class={`diff-side ${side} none`} />;
  return (
    <div class={`diff-side ${side}`}>
      <span class="diff-number">{line.number}</span>
      <span class="diff-mark">{mark && <><span class="visually-hidden">{word}</span><span aria-hidden="true">{mark}</span></>}</span>
      <code>{line.text || " "}</code>
    </div>
  );
}
