import type { SkillDetail } from "../../api/model";
import type { Mark } from "../../ui/Code";
import { sentence } from "../../lib/reason";
import { below } from "./places";

const tones = { error: "bad", warning: "warn", info: "info" } as const;

/** marksOf returns what was found in one file of a skill, by line. */
export function marksOf(s: SkillDetail, path: string): Mark[] {
  const marks: Mark[] = [];
  for (const p of s.problems ?? []) {
    if (p.line && below(s, p.path) === path) marks.push({ line: p.line, tone: tones[p.severity], text: `${sentence(p.message, p.field)} – ${p.hint}` });
  }
  for (const f of s.scan?.findings ?? []) {
    if (f.line && f.path === path) marks.push({ line: f.line, tone: f.blocking ? "bad" : tones[f.severity], text: `${sentence(f.message)} – ${f.hint}` });
  }
  return marks;
}
