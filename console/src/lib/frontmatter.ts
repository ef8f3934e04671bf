/** splitSource cuts a SKILL.md into its frontmatter and its body; bodyLine is the line where the body begins. */
export function splitSource(text: string): { front: string; body: string; bodyLine: number } {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  if (lines[0]?.trimEnd() !== "---") return { front: "", body: lines.join("\n"), bodyLine: 1 };
  const end = lines.findIndex((l, i) => i > 0 && /^(---|\.\.\.)\s*$/.test(l));
  if (end < 0) return { front: lines.slice(1).join("\n"), body: "", bodyLine: lines.length + 1 };
  return { front: lines.slice(1, end).join("\n"), body: lines.slice(end + 1).join("\n"), bodyLine: end + 2 };
}

/** looksLikeText reports whether a text that was read as UTF-8 is one, and not bytes of something else. */
export function looksLikeText(text: string): boolean {
  if (text.includes("\0")) return false;
  let bad = 0;
  for (const c of text.slice(0, 4096)) if (c === "\uFFFD") bad++;
  return bad * 50 <= Math.min(text.length, 4096);
}
