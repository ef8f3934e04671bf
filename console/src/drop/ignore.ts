// Decides which files of a dropped folder are packed. The sidecar has the same rules: DiscoveryRules.Serves for hidden
// files, and the syntax of gitignore(5) for .clawhubignore, as its ClawHub profile reads it.

/** Why a file or folder is not packed. */
export type LeftOutReason = "hidden" | "skipped" | "desktop" | "vcs" | "ignored";

export interface LeftOut {
  /** path below the skill folder; a folder ends with a slash */
  path: string;
  reason: LeftOutReason;
}

/** Hidden files that are part of a skill. */
const dotFiles = new Set([
  ".clawhubignore", ".dockerignore", ".editorconfig", ".env.example", ".gitattributes", ".gitignore", ".gitkeep", ".npmignore",
]);

const versionControl = new Set([".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS"]);

/** Directories that the sidecar does not enter by default (setting `skip`). */
export const defaultSkip = ["node_modules", "venv", "__pycache__"];

/** byName returns why an entry is left out for its name alone. */
export function byName(name: string, isDir: boolean, skip: readonly string[] = defaultSkip): LeftOutReason | undefined {
  if (versionControl.has(name) && (isDir || name === ".git")) return "vcs";
  if (name === "__MACOSX" || name === ".DS_Store" || name === "Thumbs.db" || name.startsWith("._")) return "desktop";
  if (isDir && skip.includes(name)) return "skipped";
  if (name.startsWith(".") && (isDir || !dotFiles.has(name))) return "hidden";
  return undefined;
}

interface Pattern {
  parts: string[];
  negated: boolean;
  dirsOnly: boolean;
}

const maxPatterns = 1000;

/** IgnoreRules are the patterns of a .clawhubignore. Case does not count. */
export class IgnoreRules {
  private readonly patterns: Pattern[] = [];
  /** there were more patterns than are read */
  readonly cut: boolean;
  private readonly dirs = new Map<string, boolean>();

  constructor(text: string) {
    const lines = text.split("\n").map(parsePattern).filter((p) => p !== undefined);
    this.cut = lines.length > maxPatterns;
    this.patterns = lines.slice(0, maxPatterns);
  }

  /** ignores reports whether a file or folder, by its path below the skill folder, is left out. */
  ignores(path: string, isDir = false): boolean {
    if (this.patterns.length === 0) return false;
    const parts = path.toLowerCase().split("/");
    for (let i = 1; i < parts.length; i++) {
      if (this.ignoresDir(parts.slice(0, i))) return true;
    }
    return isDir ? this.ignoresDir(parts) : this.excludes(parts, false);
  }

  private ignoresDir(parts: string[]): boolean {
    const key = parts.join("/");
    let known = this.dirs.get(key);
    if (known === undefined) {
      known = this.excludes(parts, true);
      this.dirs.set(key, known);
    }
    return known;
  }

  /** The last pattern that matches decides. */
  private excludes(parts: string[], isDir: boolean): boolean {
    for (let i = this.patterns.length - 1; i >= 0; i--) {
      const p = this.patterns[i]!;
      if ((isDir || !p.dirsOnly) && matchParts(p.parts, parts)) return !p.negated;
    }
    return false;
  }
}

function parsePattern(raw: string): Pattern | undefined {
  let line = raw.replace(/\r+$/, "");
  while (line.endsWith(" ") && !line.endsWith("\\ ")) line = line.slice(0, -1);
  if (line === "" || line.startsWith("#")) return undefined;
  const negated = line.startsWith("!");
  if (negated) line = line.slice(1);
  const dirsOnly = line.endsWith("/");
  if (dirsOnly) line = line.slice(0, -1);
  const tied = line.startsWith("/");
  if (tied) line = line.slice(1);
  if (line === "") return undefined;
  const parts = line.toLowerCase().split("/");
  if (!tied && parts.length === 1) parts.unshift("**");
  if (parts[parts.length - 1] === "**") parts.push("*"); // what lies in a directory, not the directory itself
  return { parts, negated, dirsOnly };
}

/** matchParts matches a path by its parts; a part `**` stands for any number of them. Its work is the product of the lengths. */
function matchParts(pattern: string[], path: string[]): boolean {
  let reached = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    if (part === "**") {
      const first = Math.min(...reached);
      for (let i = first; i <= path.length; i++) next.add(i);
    } else {
      for (const i of reached) if (i < path.length && matchPart(part, path[i]!)) next.add(i + 1);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(path.length);
}

/** matchPart matches one part with `*`, `?`, `[a-z]` and `\x`. It goes back to the last `*` only, so it cannot explode. */
export function matchPart(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    const step = p < pattern.length ? matchOne(pattern, p, text[t]!) : -1;
    if (p < pattern.length && pattern[p] === "*") {
      star = p++;
      mark = t;
    } else if (step > 0) {
      p = step;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** matchOne returns the position after the pattern's next element where it matches the character, else -1. */
function matchOne(pattern: string, p: number, c: string): number {
  switch (pattern[p]) {
    case "*":
      return -1;
    case "?":
      return p + 1;
    case "\\":
      return p + 1 < pattern.length && pattern[p + 1] === c ? p + 2 : -1;
    case "[":
      return matchClass(pattern, p, c);
  }
  return pattern[p] === c ? p + 1 : -1;
}

function matchClass(pattern: string, start: number, c: string): number {
  let p = start + 1;
  const negated = pattern[p] === "!" || pattern[p] === "^";
  if (negated) p++;
  let found = false;
  for (const first = p; p < pattern.length && (pattern[p] !== "]" || p === first); p++) {
    if (pattern[p] === "\\" && p + 1 < pattern.length) p++;
    const low = pattern[p]!;
    let high = low;
    if (pattern[p + 1] === "-" && p + 2 < pattern.length && pattern[p + 2] !== "]") {
      p += 2;
      if (pattern[p] === "\\" && p + 1 < pattern.length) p++;
      high = pattern[p]!;
    }
    if (low <= c && c <= high) found = true;
  }
  if (p >= pattern.length) return -1; // no closing bracket: invalid, matches nothing
  return found !== negated ? p + 1 : -1;
}
