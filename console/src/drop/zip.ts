// Reads the directory of a dropped zip, so that an archive that the sidecar would refuse is not sent.

import type { Excess, Limits } from "./collect";

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
/** An end record has 22 bytes, and a comment of at most 64 KiB. */
const maxEnd = 22 + 0xffff;
const maxDirectory = 16 << 20;

/** zipExcess returns what the sidecar would refuse in an archive; undefined also where the page cannot tell, such as for ZIP64. */
export async function zipExcess(name: string, data: Blob, limits: Limits): Promise<Excess | undefined> {
  const tail = await view(data.slice(Math.max(0, data.size - maxEnd)));
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== endSignature) end--;
  if (end < 0) return undefined;
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const at = tail.getUint32(end + 16, true);
  if (count === 0xffff || at === 0xffffffff || size > maxDirectory || at + size > data.size) return undefined;
  const directory = await view(data.slice(at, at + size));
  let total = 0;
  let largest = { path: "", bytes: -1 };
  for (let i = 0, p = 0; i < count; i++) {
    if (p + 46 > directory.byteLength || directory.getUint32(p, true) !== entrySignature) return undefined;
    const bytes = directory.getUint32(p + 24, true);
    const named = directory.getUint16(p + 28, true);
    total += bytes;
    if (bytes > largest.bytes) largest = { path: new TextDecoder().decode(directory.buffer.slice(p + 46, p + 46 + named)), bytes };
    p += 46 + named + directory.getUint16(p + 30, true) + directory.getUint16(p + 32, true);
  }
  if (count > limits.entries) return { kind: "entries", skill: name, count, limit: limits.entries, largest: largest.path };
  if (largest.bytes > limits.fileBytes) return { kind: "file", skill: name, path: largest.path, bytes: largest.bytes, limit: limits.fileBytes };
  if (total > limits.totalBytes) return { kind: "total", skill: name, bytes: total, limit: limits.totalBytes, largest: largest.path };
  return undefined;
}

async function view(part: Blob): Promise<DataView> {
  return new DataView(await part.arrayBuffer());
}
