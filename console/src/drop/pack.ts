// Packs skill folders into one zip, in slices, so that the page stays responsive.

import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import type { FoundSkill, SkillFile } from "./collect";

/** sliceBytes is read and compressed at a time: some milliseconds of work, and reading the next slice yields. */
const sliceBytes = 64 << 10;
/** budgetMs is how long the page's thread is kept before it is given back. */
const budgetMs = 12;

/** Files that are compressed already are stored. */
const packed = /\.(7z|avif|br|bz2|docx|gif|gz|jar|jpe?g|mp3|mp4|odt|pdf|png|pptx|skill|tgz|webm|webp|whl|woff2?|xlsx|xz|zip|zst)$/i;

const unix = 3;
const regular = 0o100000;

export interface PackOptions {
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

/** FileChanged says that a file could not be read as it was when it was dropped. */
export class FileChanged extends Error {
  readonly path: string;
  constructor(path: string, cause: unknown) {
    super(`cannot read ${path}`, { cause });
    this.path = path;
    this.name = "FileChanged"; // the module is a bundle of its own: instanceof does not hold outside
  }
}

/** pause gives the thread back until the next task. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** pack returns a zip with one top-level folder for each skill. A SKILL.md alone is packed without a folder. */
export async function pack(skills: readonly FoundSkill[], options: PackOptions = {}): Promise<Blob> {
  const parts: BlobPart[] = [];
  let failed: Error | undefined;
  const zip = new Zip((err, chunk) => {
    if (err) failed = err;
    else parts.push(chunk as Uint8Array<ArrayBuffer>);
  });
  const total = skills.reduce((sum, s) => sum + s.bytes, 0);
  let done = 0;
  let since = performance.now();
  const step = async (bytes: number): Promise<void> => {
    if (failed) throw failed;
    options.signal?.throwIfAborted();
    done += bytes;
    options.onProgress?.(done, total);
    if (performance.now() - since < budgetMs) return;
    await pause();
    since = performance.now();
  };
  for (const skill of skills) {
    for (const file of skill.files) {
      await add(zip, skill.folder ? `${skill.folder}/${file.path}` : file.path, file, step);
    }
  }
  zip.end();
  if (failed) throw failed;
  return new Blob(parts, { type: "application/zip" });
}

async function add(zip: Zip, name: string, file: SkillFile, step: (bytes: number) => Promise<void>): Promise<void> {
  const size = file.data.size;
  let at = await read(file, 0);
  const entry = packed.test(name) ? new ZipPassThrough(name) : new ZipDeflate(name, { level: 6 });
  entry.mtime = new Date(1980, 0, 1); // the same files give the same archive
  entry.os = unix;
  entry.attrs = (regular | (isScript(at) ? 0o755 : 0o644)) << 16;
  zip.add(entry);
  for (let offset = at.length; ; offset += at.length) {
    entry.push(at, offset >= size);
    await step(at.length);
    if (offset >= size) return;
    at = await read(file, offset);
  }
}

async function read(file: SkillFile, offset: number): Promise<Uint8Array> {
  const want = Math.min(sliceBytes, file.data.size - offset);
  try {
    const bytes = new Uint8Array(await file.data.slice(offset, offset + want).arrayBuffer());
    if (bytes.length !== want) throw new Error("it is shorter now");
    return bytes;
  } catch (err) {
    throw new FileChanged(file.path, err);
  }
}

/** isScript: browsers do not tell the executable bit, so a file with an interpreter in its first line gets it. */
function isScript(head: Uint8Array): boolean {
  return head[0] === 0x23 && head[1] === 0x21;
}
