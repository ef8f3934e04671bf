// Finds the skills in what was dropped or picked: folders, several folders, archives, a SKILL.md alone.

import { byName, IgnoreRules, type LeftOut } from "./ignore";

/** Node is a file or a folder, whichever way the browser hands it over. */
export interface Node {
  name: string;
  isDir: boolean;
  children(): Promise<Node[]>;
  file(): Promise<Blob>;
}

export interface SkillFile {
  /** path below the skill folder */
  path: string;
  data: Blob;
}

export interface FoundSkill {
  /** name of the folder, unique in the drop; empty for a SKILL.md that was dropped alone */
  folder: string;
  /** where it lay in what was dropped */
  from: string;
  files: SkillFile[];
  bytes: number;
  leftOut: LeftOut[];
  /** how many were left out, also those that leftOut has no room for */
  leftOutCount: number;
}

export interface Collected {
  skills: FoundSkill[];
  archives: { name: string; data: Blob }[];
  /** files that belong to no skill: the first ones, and their number */
  beside: string[];
  besideCount: number;
  /** hidden or skipped folders outside of skills, which were not searched */
  notSearched: string[];
  /** names of dropped folders without a skill */
  empty: string[];
}

export interface CollectOptions {
  skip?: readonly string[];
  /** called with the number of files seen */
  onProgress?: (files: number) => void;
  signal?: AbortSignal;
}

/** maxSeen bounds what is walked: a home directory dropped by mistake ends here. */
export const maxSeen = 20_000;
const maxListed = 200;
const maxDepth = 40;

export class TooManyFiles extends Error {
  readonly seen: number;
  constructor(seen: number) {
    super("too many files");
    this.seen = seen;
  }
}

export const isArchive = (name: string): boolean => /\.(zip|skill|tgz|tar\.gz)$/i.test(name);
const isSkillFile = (n: Node): boolean => !n.isDir && n.name.toLowerCase() === "skill.md";

class Collector {
  readonly out: Collected = { skills: [], archives: [], beside: [], besideCount: 0, notSearched: [], empty: [] };
  private seen = 0;
  private readonly names = new Set<string>();
  private readonly options: CollectOptions;

  constructor(options: CollectOptions) {
    this.options = options;
  }

  async top(nodes: Node[]): Promise<void> {
    for (const n of nodes) {
      if (n.isDir) {
        const before = this.out.skills.length + this.out.archives.length;
        await this.search(n, n.name, 0);
        if (this.out.skills.length + this.out.archives.length === before) this.out.empty.push(n.name);
      } else if (isSkillFile(n)) {
        const data = await n.file();
        this.out.skills.push({ folder: "", from: n.name, files: [{ path: "SKILL.md", data }], bytes: data.size, leftOut: [], leftOutCount: 0 });
      } else {
        await this.loose(n, n.name);
      }
    }
  }

  /** search walks down to the uppermost folders that contain a SKILL.md. */
  private async search(dir: Node, path: string, depth: number): Promise<void> {
    const children = await this.read(dir);
    if (children.some(isSkillFile)) {
      await this.skill(dir, path, children);
      return;
    }
    for (const c of children) {
      const at = `${path}/${c.name}`;
      const why = byName(c.name, c.isDir, this.options.skip);
      if (c.isDir && (why || depth >= maxDepth)) {
        if (this.out.notSearched.length < maxListed) this.out.notSearched.push(`${at}/`);
      } else if (c.isDir) {
        await this.search(c, at, depth + 1);
      } else if (!why) {
        await this.loose(c, at);
      }
    }
  }

  private async loose(n: Node, path: string): Promise<void> {
    if (isArchive(n.name)) {
      this.out.archives.push({ name: n.name, data: await n.file() });
      return;
    }
    this.out.besideCount++;
    if (this.out.beside.length < maxListed) this.out.beside.push(path);
  }

  private async skill(dir: Node, from: string, children: Node[]): Promise<void> {
    const skill: FoundSkill = { folder: this.uniqueName(dir.name), from, files: [], bytes: 0, leftOut: [], leftOutCount: 0 };
    const ignore = children.find((c) => !c.isDir && c.name === ".clawhubignore");
    const rules = new IgnoreRules(ignore ? await (await ignore.file()).slice(0, 1 << 20).text() : "");
    await this.fill(skill, rules, children, "", 0);
    skill.files.sort((a, b) => (a.path < b.path ? -1 : 1));
    this.out.skills.push(skill);
  }

  private async fill(skill: FoundSkill, rules: IgnoreRules, children: Node[], below: string, depth: number): Promise<void> {
    for (const c of children) {
      const path = below + c.name;
      const reason = byName(c.name, c.isDir, this.options.skip) ?? (rules.ignores(path, c.isDir) ? ("ignored" as const) : undefined);
      if (reason) {
        skill.leftOutCount++;
        if (skill.leftOut.length < maxListed) skill.leftOut.push({ path: c.isDir ? `${path}/` : path, reason });
      } else if (!c.isDir) {
        const data = await c.file();
        skill.files.push({ path, data });
        skill.bytes += data.size;
      } else if (depth < maxDepth) {
        await this.fill(skill, rules, await this.read(c), `${path}/`, depth + 1);
      }
    }
  }

  private async read(dir: Node): Promise<Node[]> {
    this.options.signal?.throwIfAborted();
    const children = await dir.children();
    this.seen += children.length;
    if (this.seen > maxSeen) throw new TooManyFiles(this.seen);
    this.options.onProgress?.(this.seen);
    return children;
  }

  /** Two dropped folders may have the same name; archives have each path once, in any case. */
  private uniqueName(name: string): string {
    let unique = name;
    for (let i = 2; this.names.has(unique.toLowerCase()); i++) unique = `${name}-${i}`;
    this.names.add(unique.toLowerCase());
    return unique;
  }
}

/** collect finds the skills and archives below what was dropped. It ends with TooManyFiles instead of walking on and on. */
export async function collect(nodes: Node[], options: CollectOptions = {}): Promise<Collected> {
  const collector = new Collector(options);
  await collector.top(nodes);
  return collector.out;
}

/** fromTransfer takes the entries of a drop. It must be called before the event handler returns: the browser empties the list. */
export function fromTransfer(data: DataTransfer): Node[] {
  const nodes: Node[] = [];
  for (const item of data.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry?.();
    const file = entry ? null : item.getAsFile();
    if (entry) nodes.push(fromEntry(entry));
    else if (file) nodes.push(fromFile(file));
  }
  return nodes;
}

function fromFile(file: File, name = file.name): Node {
  return { name, isDir: false, children: async () => [], file: async () => file };
}

function fromEntry(entry: FileSystemEntry): Node {
  return {
    name: entry.name,
    isDir: entry.isDirectory,
    children: () => readAll((entry as FileSystemDirectoryEntry).createReader()),
    file: () => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
  };
}

/** readAll repeats readEntries, which returns at most 100 entries at a time. */
async function readAll(reader: FileSystemDirectoryReader): Promise<Node[]> {
  const nodes: Node[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return nodes;
    nodes.push(...part.map(fromEntry));
    if (nodes.length > maxSeen) return nodes;
  }
}

interface Branch {
  dirs: Map<string, Branch>;
  files: Node[];
}

/** fromFiles takes the files of a picker. Those of a folder picker have their path in webkitRelativePath. */
export function fromFiles(files: Iterable<File>): Node[] {
  const root: Branch = { dirs: new Map(), files: [] };
  for (const file of files) {
    const parts = (file.webkitRelativePath || file.name).split("/");
    const name = parts.pop()!;
    let at = root;
    for (const part of parts) {
      let next = at.dirs.get(part);
      if (!next) at.dirs.set(part, (next = { dirs: new Map(), files: [] }));
      at = next;
    }
    at.files.push(fromFile(file, name));
  }
  return nodesOf(root);
}

function nodesOf(branch: Branch): Node[] {
  const dirs = [...branch.dirs].map(([name, sub]): Node => ({
    name,
    isDir: true,
    children: async () => nodesOf(sub),
    file: () => Promise.reject(new Error("a folder")),
  }));
  return [...dirs, ...branch.files];
}

/** Limits are those of the sidecar for an upload. */
export interface Limits {
  entries: number;
  fileBytes: number;
  totalBytes: number;
}

export type Excess =
  | { kind: "entries"; skill: string; count: number; limit: number; largest: string }
  | { kind: "file"; skill: string; path: string; bytes: number; limit: number }
  | { kind: "total"; skill: string; bytes: number; limit: number; largest: string };

/** entriesOf is how many files and folders a skill has in an archive. */
export function entriesOf(skill: FoundSkill): number {
  const dirs = new Set<string>();
  for (const { path } of skill.files) for (let i = path.indexOf("/"); i >= 0; i = path.indexOf("/", i + 1)) dirs.add(path.slice(0, i));
  return skill.files.length + dirs.size;
}

/** grouped puts skills together as long as an archive of them keeps the limits; each one alone has to. */
export function grouped(skills: readonly FoundSkill[], limits: Limits): FoundSkill[][] {
  const groups: FoundSkill[][] = [];
  let entries = 0;
  let bytes = 0;
  for (const s of skills) {
    const more = entriesOf(s) + 1; // its own folder
    if (groups.length === 0 || entries + more > limits.entries || bytes + s.bytes > limits.totalBytes) {
      groups.push([]);
      entries = bytes = 0;
    }
    groups.at(-1)!.push(s);
    entries += more;
    bytes += s.bytes;
  }
  return groups;
}

/** excess returns what the sidecar would refuse in a skill, so that nothing is sent for it. */
export function excess(skill: FoundSkill, limits: Limits): Excess | undefined {
  const large = skill.files.find((f) => f.data.size > limits.fileBytes);
  if (large) return { kind: "file", skill: skill.folder, path: large.path, bytes: large.data.size, limit: limits.fileBytes };
  const dirs = new Map<string, { count: number; bytes: number }>();
  for (const f of skill.files) {
    const parts = f.path.split("/");
    const top = parts.length > 1 ? `${parts[0]}/` : f.path;
    const sum = dirs.get(top) ?? { count: 0, bytes: 0 };
    dirs.set(top, { count: sum.count + 1, bytes: sum.bytes + f.data.size });
  }
  const most = (by: "count" | "bytes"): string => [...dirs].sort((a, b) => b[1][by] - a[1][by])[0]?.[0] ?? "";
  const entries = entriesOf(skill);
  if (entries > limits.entries) return { kind: "entries", skill: skill.folder, count: entries, limit: limits.entries, largest: most("count") };
  if (skill.bytes > limits.totalBytes) return { kind: "total", skill: skill.folder, bytes: skill.bytes, limit: limits.totalBytes, largest: most("bytes") };
  return undefined;
}
