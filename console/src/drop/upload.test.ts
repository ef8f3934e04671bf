import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { formatOf, frame, Lost, SessionEnded, sha256, Upload, UploadFailed, type Progress, type Socket } from "./upload";

/** Sidecar does what docs/RPC.md says of uploads, in memory. */
class Sidecar {
  uploads = new Map<string, { bytes: Uint8Array[]; received: number; size: number; sha256: string; status: string }>();
  chunk = 1000;
  calls: string[] = [];
  connections = 0;
  /** called before a chunk is taken in; true cuts the connection */
  cut: (offset: number) => boolean = () => false;
  /** an error instead of the next acknowledgement */
  fault: { code: string; reason?: string; next_offset: number } | undefined;
  onAck: (received: number) => void = () => undefined;
  private count = 0;

  connect = async (): Promise<Socket> => {
    this.connections++;
    const listeners = new Set<(m: string, p: Record<string, unknown>) => void>();
    let lose = (): void => undefined;
    let open = true;
    const closed = new Promise<void>((resolve) => (lose = () => { open = false; resolve(); }));
    const tell = (m: string, p: Record<string, unknown>): void => { if (open) listeners.forEach((l) => l(m, p)); };
    return {
      closed,
      close: lose,
      onNotify: (l) => { listeners.add(l); return () => listeners.delete(l); },
      call: async (method, p) => {
        this.calls.push(method);
        if (!open) throw new Lost();
        return this.answer(method, p);
      },
      sendBinary: (data) => {
        if (!open) throw new Lost();
        const length = new DataView(data.buffer).getUint32(4);
        const h = JSON.parse(new TextDecoder().decode(data.subarray(8, 8 + length)));
        if (this.cut(h.offset)) return lose();
        queueMicrotask(() => this.take(h, data.slice(8 + length), tell));
      },
    };
  };

  private take(h: { upload_id: string; offset: number; len: number }, chunk: Uint8Array, tell: (m: string, p: Record<string, unknown>) => void): void {
    const up = this.uploads.get(h.upload_id)!;
    assert.equal(chunk.length, h.len);
    const fault = this.fault ?? (h.offset === up.received ? undefined : { code: "skills.upload.invalid_request", next_offset: up.received });
    this.fault = undefined;
    if (fault) return tell("skills/upload/chunk_error", { upload_id: h.upload_id, offset: h.offset, message: "no", ...fault });
    up.bytes.push(chunk);
    up.received += chunk.length;
    tell("skills/upload/chunk_ack", { upload_id: h.upload_id, next_offset: up.received });
    this.onAck(up.received);
  }

  private answer(method: string, p: Record<string, unknown>): unknown {
    if (method === "skills/upload/start") {
      const id = `upl_${++this.count}`;
      this.uploads.set(id, { bytes: [], received: 0, size: Number(p["compressed_size_bytes"]), sha256: String(p["sha256"]), status: "receiving" });
      return { upload_id: id, recommended_chunk_size_bytes: this.chunk };
    }
    const up = this.uploads.get(String(p["upload_id"]));
    if (!up) throw Object.assign(new Error("no such upload"), { code: "upload.not_found" });
    if (method === "skills/upload/finish") {
      assert.equal(createHash("sha256").update(Buffer.concat(up.bytes)).digest("hex"), up.sha256);
      up.status = "ready";
    }
    if (method === "skills/upload/abort") up.status = "aborted";
    return { status: up.status, next_offset: up.received };
  }
}

const data = new Blob([new Uint8Array(10_500).map((_, i) => i % 251)]);

function upload(s: Sidecar, connect = s.connect): { up: Upload; seen: Progress[] } {
  const seen: Progress[] = [];
  const up = new Upload(data, connect, { fileName: "drop.zip", format: "zip", delay: async () => undefined, onChange: (p) => seen.push(p) });
  return { up, seen };
}

test("sends every byte and finishes", async () => {
  const s = new Sidecar();
  const { up, seen } = upload(s);
  assert.equal(await up.run(), "upl_1");
  assert.equal(up.state.phase, "ready");
  assert.deepEqual(s.calls, ["skills/upload/start", "skills/upload/finish"]);
  assert.ok(seen.filter((p) => p.phase === "sending").length > 5);
});

test("goes on where the sidecar was when the connection is lost", async () => {
  const s = new Sidecar();
  let cuts = 3;
  s.cut = (offset) => offset >= 4000 && cuts-- > 0;
  const { up } = upload(s);
  await up.run();
  assert.deepEqual([s.connections, up.state.resumed, up.state.restarted], [4, 3, false]);
  assert.equal(s.uploads.size, 1);
});

test("a connection that cannot be made is tried again", async () => {
  const s = new Sidecar();
  let down = 5;
  const { up, seen } = upload(s, async () => { if (down-- > 0) throw new Lost(); return s.connect(); });
  await up.run();
  assert.equal(seen.filter((p) => p.phase === "waiting").length, 5);
});

test("begins again if the sidecar forgot the upload, and says so", async () => {
  const s = new Sidecar();
  let cut = true;
  s.cut = (offset) => { if (offset < 4000 || !cut) return false; cut = false; s.uploads.clear(); return true; };
  const { up } = upload(s);
  assert.equal(await up.run(), "upl_2");
  assert.equal(up.state.restarted, true);
});

test("begins again if the upload expired", async () => {
  const s = new Sidecar();
  let cut = true;
  s.cut = (offset) => { if (offset < 4000 || !cut) return false; cut = false; s.uploads.get("upl_1")!.status = "expired"; return true; };
  const { up } = upload(s);
  assert.equal(await up.run(), "upl_2");
});

test("continues at the offset of a refused chunk", async () => {
  const s = new Sidecar();
  s.fault = { code: "skills.upload.invalid_request", next_offset: 0 };
  await upload(s).up.run();
  assert.equal(s.connections, 1);
});

test("ends if the upload cannot go on", async () => {
  const s = new Sidecar();
  s.fault = { code: "skills.upload.size_limit", reason: "upload.size_limit", next_offset: -1 };
  const { up } = upload(s);
  await assert.rejects(up.run(), (err) => err instanceof UploadFailed && err.code === "upload.size_limit");
  assert.equal(up.state.phase, "failed");
});

test("waits for a new login and goes on", async () => {
  const s = new Sidecar();
  let login = (): void => undefined;
  let ended = true;
  const { up, seen } = upload(s, async () => { if (ended) throw new SessionEnded(new Promise<void>((r) => (login = () => { ended = false; r(); }))); return s.connect(); });
  const done = up.run();
  while (!seen.some((p) => p.reason === "session")) await new Promise(setImmediate);
  login();
  assert.equal(await done, "upl_1");
});

test("pauses between chunks and resumes", async () => {
  const s = new Sidecar();
  const { up } = upload(s);
  s.onAck = (n) => { if (n === 3000) up.pause(); };
  const done = up.run();
  while (up.state.phase !== "paused" || up.state.sent < 3000) await new Promise(setImmediate);
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  const sent = up.state.sent;
  assert.ok(sent < data.size);
  s.onAck = () => undefined;
  up.resume();
  await done;
  assert.equal(up.state.sent, data.size);
});

test("cancel ends the upload on the sidecar", async () => {
  const s = new Sidecar();
  const { up } = upload(s);
  s.onAck = (n) => { if (n === 3000) up.cancel(); };
  await assert.rejects(up.run(), (err) => err instanceof UploadFailed && err.code === "cancelled");
  assert.equal(up.state.phase, "cancelled");
  assert.equal(s.uploads.get("upl_1")!.status, "aborted");
});

test("cancel while nothing answers", async () => {
  const { up } = upload(new Sidecar(), () => new Promise(() => undefined));
  const done = up.run();
  up.cancel();
  await assert.rejects(done, UploadFailed);
});

test("the frame of a chunk", () => {
  const f = Buffer.from(frame("upl_1", 7, new Uint8Array([1, 2])));
  const header = '{"upload_id":"upl_1","offset":7,"len":2}';
  assert.deepEqual(f, Buffer.concat([Buffer.from("PSU1"), Buffer.from([0, 0, 0, header.length]), Buffer.from(header), Buffer.from([1, 2])]));
});

test("digests and formats", async () => {
  assert.equal(await sha256(new Blob(["abc"])), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert.equal(await formatOf(new Blob(["PK\x03\x04"])), "zip");
  assert.equal(await formatOf(new Blob([new Uint8Array([0x1f, 0x8b, 8, 0])])), "tar_gz");
  assert.equal(await formatOf(new Blob(["Rar!"])), undefined);
});
