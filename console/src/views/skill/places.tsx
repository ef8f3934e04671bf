import type { Problem, SkillDetail } from "../../api/model";
import { setParams } from "../../router";
import { S } from "../../strings";
import { mainFile } from "./useSkill";

/** below returns the path of a problem below the directory of its skill; null for one elsewhere. */
export function below(s: SkillDetail, path: string): string | null {
  if (path === s.path) return "";
  return path.startsWith(s.path + "/") ? path.slice(s.path.length + 1) : null;
}

/** openFile shows a line of a file of the skill. */
export function openFile(s: SkillDetail, file: string, line?: number): void {
  const at = line ? String(line) : "";
  if (file === mainFile(s)) setParams({ tab: "source", file: "", line: at });
  else setParams({ tab: "files", file, line: at });
}

/** Place names a file and a line, and leads there. */
export function Place({ s, file, line }: { s: SkillDetail; file: string; line?: number }) {
  const label = line ? S.skill.place(file, line) : file;
  return (
    <button type="button" class="link mono break" onClick={() => openFile(s, file, line)}>
      {label}
    </button>
  );
}

/** ProblemPlace is the place of a problem. */
export function ProblemPlace({ s, p }: { s: SkillDetail; p: Problem }) {
  const file = below(s, p.path);
  if (file) return <Place s={s} file={file} line={p.line} />;
  return <span class="mono muted break">{p.path}</span>;
}
