// What a dropped folder changes in an installed skill, before it replaces it.

import { get, skillURL, text } from "../api/client";
import type { SkillDetail } from "../api/model";
import type { FoundSkill } from "./collect";
import type { Conflict } from "./plan";

export interface FileChange {
  path: string;
  change: "added" | "removed" | "changed";
  /** texts are those of the installed and the dropped file; absent where one is no text, or too large */
  texts?: { before: string; after: string };
}

/** The bounds of what is compared. */
const maxText = 256 * 1024;
const maxTexts = 100;

/** versionOf returns the version in the SKILL.md of a dropped folder. */
export async function versionOf(skill: FoundSkill): Promise<string | undefined> {
  const file = skill.files.find((f) => f.path.toLowerCase() === "skill.md");
  const head = file ? await file.data.slice(0, 64 * 1024).text() : "";
  const front = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(head)?.[1] ?? "";
  return /^ *version:[ \t]*["']?([^"'#\r\n]+?)["']?[ \t]*(#.*)?$/m.exec(front)?.[1];
}

/** compare returns the files that differ. Files of the same size are read; beyond the bounds they count as the same. */
export async function compare(skill: FoundSkill, conflict: Conflict): Promise<FileChange[]> {
  const installed = await get<SkillDetail>(skillURL(conflict.slug, "", { path: conflict.path }));
  const before = new Map(installed.files.map((f) => [f.path, f.size]));
  const out: FileChange[] = [];
  let left = maxTexts;
  for (const f of skill.files) {
    const size = before.get(f.path);
    before.delete(f.path);
    const fits = f.data.size <= maxText && (size ?? 0) <= maxText && left-- > 0;
    const after = fits ? await f.data.text() : undefined;
    if (size === undefined) {
      out.push({ path: f.path, change: "added", texts: shown("", after) });
      continue;
    }
    const was = fits ? await read(conflict, f.path) : undefined;
    const same = after !== undefined && was !== undefined ? after === was : size === f.data.size;
    if (!same) out.push({ path: f.path, change: "changed", texts: shown(was, after) });
  }
  for (const [path, size] of before) {
    out.push({ path, change: "removed", texts: shown(size <= maxText && left-- > 0 ? await read(conflict, path) : undefined, "") });
  }
  return out;
}

async function read(conflict: Conflict, path: string): Promise<string | undefined> {
  const at = skillURL(conflict.slug, "/files/" + path.split("/").map(encodeURIComponent).join("/"), { inspect: "1", skill_path: conflict.path });
  return (await text(at, maxText)).text;
}

// A text with a NUL or a replacement character is none.
const isText = (t: string | undefined): t is string => t !== undefined && !/[\u0000\uFFFD]/.test(t);

const shown = (before: string | undefined, after: string | undefined) => (isText(before) && isText(after) ? { before, after } : undefined);
