// Sends an archive in chunks over the WebSocket of JSON-RPC (docs/RPC.md, "Upload an archive"): with progress, pause,
// and resume after a lost connection, a restart of the sidecar or a new login.

/** Socket is what an upload needs of a connection. A call or a send on a lost connection throws Lost. */
export interface Socket {
  call(method: string, params: Record<string, unknown>): Promise<unknown>;
  sendBinary(frame: Uint8Array<ArrayBuffer>): void;
  onNotify(listen: (method: string, params: Record<string, unknown>) => void): () => void;
  /** settles when the connection is lost or closed */
  closed: Promise<unknown>;
  close(): void;
}

/** Lost: the connection went away; the outcome of a call is unknown. */
export class Lost extends Error {}

/** UploadFailed: the sidecar refused, and another try does not help. */
export class UploadFailed extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint = "") {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

export type Phase = "preparing" | "connecting" | "sending" | "paused" | "waiting" | "finishing" | "ready" | "failed" | "cancelled";

export interface Progress {
  phase: Phase;
  /** bytes that the sidecar has acknowledged */
  sent: number;
  total: number;
  /** of phase waiting: when the next try begins, as Date.now() has it; 0 after a lost session until there is a new one */
  retryAt: number;
  /** the sidecar forgot an earlier part of the upload, and it began again */
  restarted: boolean;
  /** how often the upload went on after a lost connection */
  resumed: number;
  error?: UploadFailed;
  /** why the upload waits, if that is known */
  reason?: string;
}

export interface UploadOptions {
  fileName: string;
  format: "zip" | "tar_gz";
  onChange?: (p: Progress) => void;
  /** waits before try number n; tests replace it */
  delay?: (attempt: number, signal: AbortSignal) => Promise<void>;
  digest?: (data: Blob) => Promise<string>;
}

/** Connect opens a connection. It throws SessionEnded if there is no login, and Lost if the sidecar does not answer. */
export type Connect = () => Promise<Socket>;

export class SessionEnded extends Error {
  /** resolves when somebody has logged in again */
  readonly renewed: Promise<unknown>;
  constructor(renewed: Promise<unknown>) {
    super("the session ended");
    this.renewed = renewed;
  }
}

/** windowChunks are sent without an acknowledgement. */
const windowChunks = 3;
const maxFaults = 8;
const delays = [500, 1000, 2000, 4000, 8000, 15000];

/** retry are the codes of errors that go away. */
const retryable = new Set(["upload.quota", "skills.unavailable", "rpc.too_many_calls"]);
const forgotten = new Set(["upload.not_found", "upload.expired"]);

export class Upload {
  private progress: Progress;
  private id = "";
  private sum = "";
  private chunkBytes = 1 << 20;
  private faults = 0;
  private attempt = 0;
  private readonly cancelled = new AbortController();
  private paused: { promise: Promise<void>; resume: () => void } | undefined;
  private readonly data: Blob;
  private readonly connect: Connect;
  private readonly options: UploadOptions;

  constructor(data: Blob, connect: Connect, options: UploadOptions) {
    this.data = data;
    this.connect = connect;
    this.options = options;
    this.progress = { phase: "preparing", sent: 0, total: data.size, retryAt: 0, restarted: false, resumed: 0 };
  }

  /** uploadId of the finished upload */
  get uploadId(): string {
    return this.id;
  }

  get state(): Progress {
    return this.progress;
  }

  pause(): void {
    if (this.paused || this.cancelled.signal.aborted) return;
    let resume = (): void => undefined;
    const promise = new Promise<void>((resolve) => (resume = resolve));
    this.paused = { promise, resume };
    if (this.progress.phase === "sending") this.set({ phase: "paused" });
  }

  resume(): void {
    this.paused?.resume();
    this.paused = undefined;
  }

  /** cancel ends the upload, also on the sidecar if it can be reached. */
  cancel(): void {
    this.cancelled.abort(new UploadFailed("cancelled", "cancelled"));
    this.resume();
  }

  /** forget makes run begin a new upload: the sidecar does not have this one any more. */
  forget(): void {
    this.id = "";
    this.set({ sent: 0, restarted: true });
  }

  /** isForgotten reports that an answer means: the sidecar does not have the upload any more, or used it up. */
  static isForgotten(code: string): boolean {
    return forgotten.has(code) || code === "upload.status";
  }

  /** run resolves with the id of the complete upload. It throws UploadFailed. It may be called again after an expiry. */
  async run(): Promise<string> {
    try {
      if (!this.sum) this.sum = await this.hash();
      for (;;) {
        const again = await this.once();
        if (!again) return this.id;
        await again.after;
      }
    } catch (err) {
      const failed = err instanceof UploadFailed ? err : new UploadFailed("page", String(err instanceof Error ? err.message : err));
      this.set(failed.code === "cancelled" ? { phase: "cancelled" } : { phase: "failed", error: failed });
      throw failed;
    }
  }

  private async hash(): Promise<string> {
    this.set({ phase: "preparing" });
    const sum = await (this.options.digest ?? sha256)(this.data);
    this.cancelled.signal.throwIfAborted();
    return sum;
  }

  /** once tries on one connection. It returns what to wait for before the next try, or nothing when the upload is complete. */
  private async once(): Promise<{ after?: Promise<unknown> } | undefined> {
    let socket: Socket | undefined;
    const before = this.progress.sent;
    try {
      this.set({ phase: "connecting", retryAt: 0, reason: undefined });
      socket = await this.untilCancelled(this.connect());
      await this.send(socket);
      this.set({ phase: "ready", sent: this.data.size });
      return undefined;
    } catch (err) {
      if (this.cancelled.signal.aborted) {
        await this.abort(socket);
        throw this.cancelled.signal.reason;
      }
      if (err instanceof SessionEnded) {
        this.set({ phase: "waiting", retryAt: 0, reason: "session" });
        return { after: this.untilCancelled(err.renewed) };
      }
      const code = codeOf(err);
      if (forgotten.has(code) && this.id && this.faults++ < maxFaults) {
        this.forget();
        return {};
      }
      if (!(err instanceof Lost) && !retryable.has(code)) throw failure(err);
      this.attempt = this.progress.sent > before ? 0 : this.attempt + 1;
      return { after: this.wait(err instanceof Lost ? undefined : String((err as Error).message)) };
    } finally {
      socket?.close();
    }
  }

  private wait(reason: string | undefined): Promise<void> {
    const ms = delays[Math.min(this.attempt, delays.length - 1)]!;
    this.set({ phase: "waiting", retryAt: Date.now() + ms, reason, resumed: this.progress.resumed + 1 });
    return this.untilCancelled((this.options.delay ?? sleep)(ms, this.cancelled.signal));
  }

  private async send(socket: Socket): Promise<void> {
    let next = 0;
    if (this.id) {
      const state = (await this.call(socket, "skills/upload/status", { upload_id: this.id })) as { status: string; next_offset: number };
      if (state.status === "expired" || state.status === "aborted") throw new UploadFailed("upload.expired", "the upload expired");
      if (state.status !== "receiving") return;
      next = state.next_offset;
    } else {
      next = await this.start(socket);
    }
    this.set({ phase: "sending", sent: next });
    await this.chunks(socket, next);
    this.set({ phase: "finishing" });
    await this.call(socket, "skills/upload/finish", { upload_id: this.id });
  }

  private async start(socket: Socket): Promise<number> {
    const started = (await this.call(socket, "skills/upload/start", {
      file_name: this.options.fileName,
      archive_format: this.options.format,
      compressed_size_bytes: this.data.size,
      sha256: this.sum,
    })) as { upload_id: string; recommended_chunk_size_bytes: number };
    this.id = started.upload_id;
    this.chunkBytes = started.recommended_chunk_size_bytes || this.chunkBytes;
    return 0;
  }

  private async chunks(socket: Socket, from: number): Promise<void> {
    const acks = new Acks(socket, this.id, from, (sent) => this.set({ sent }));
    try {
      let next = from;
      while (acks.received < this.data.size) {
        if (this.paused) await this.whilePaused();
        const fault = acks.takeFault();
        if (fault) {
          if (fault.next < 0 || ++this.faults > maxFaults) throw new UploadFailed(fault.code, fault.message);
          next = fault.next;
        } else if (next < this.data.size && next - acks.received < windowChunks * this.chunkBytes) {
          next = await this.sendChunk(socket, next);
        } else {
          await this.untilCancelled(acks.changed());
        }
      }
    } finally {
      acks.stop();
    }
  }

  private async sendChunk(socket: Socket, offset: number): Promise<number> {
    const bytes = new Uint8Array(await this.data.slice(offset, offset + this.chunkBytes).arrayBuffer());
    this.cancelled.signal.throwIfAborted();
    socket.sendBinary(frame(this.id, offset, bytes));
    return offset + bytes.length;
  }

  private async whilePaused(): Promise<void> {
    this.set({ phase: "paused" });
    await this.untilCancelled(this.paused!.promise);
    this.set({ phase: "sending" });
  }

  private call(socket: Socket, method: string, params: Record<string, unknown>): Promise<unknown> {
    return this.untilCancelled(Promise.race([socket.call(method, params), socket.closed.then(() => Promise.reject(new Lost()))]));
  }

  private async abort(socket: Socket | undefined): Promise<void> {
    if (!socket || !this.id) return;
    await Promise.race([socket.call("skills/upload/abort", { upload_id: this.id }), socket.closed]).catch(() => undefined);
  }

  private untilCancelled<T>(p: Promise<T>): Promise<T> {
    const { signal } = this.cancelled;
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop);
      p.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    });
  }

  private set(change: Partial<Progress>): void {
    this.progress = { ...this.progress, ...change };
    this.options.onChange?.(this.progress);
  }
}

interface Fault {
  next: number;
  code: string;
  message: string;
}

/** Acks follows the acknowledgements of one upload on one connection. */
class Acks {
  received: number;
  private fault: Fault | undefined;
  private lost = false;
  private wake: () => void = () => undefined;
  private readonly unsubscribe: () => void;

  constructor(socket: Socket, id: string, from: number, onAck: (received: number) => void) {
    this.received = from;
    this.unsubscribe = socket.onNotify((method, p) => {
      if (p["upload_id"] !== id) return;
      if (method === "skills/upload/chunk_ack") {
        this.received = Math.max(this.received, Number(p["next_offset"]));
        onAck(this.received);
      } else if (method === "skills/upload/chunk_error") {
        this.fault = { next: Number(p["next_offset"]), code: String(p["reason"] || p["code"]), message: String(p["message"]) };
      }
      this.wake();
    });
    void socket.closed.then(() => {
      this.lost = true;
      this.wake();
    });
  }

  takeFault(): Fault | undefined {
    if (this.lost) throw new Lost();
    const fault = this.fault;
    this.fault = undefined;
    return fault;
  }

  /** changed resolves with the next message, or now if one waits. */
  changed(): Promise<void> {
    if (this.lost || this.fault) return Promise.resolve();
    return new Promise((resolve) => (this.wake = resolve));
  }

  stop(): void {
    this.unsubscribe();
  }
}

/** frame returns a binary frame: PSU1, the length of the header, the header and the chunk. */
export function frame(uploadId: string, offset: number, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = new TextEncoder().encode(JSON.stringify({ upload_id: uploadId, offset, len: chunk.length }));
  const out = new Uint8Array(8 + header.length + chunk.length);
  out.set([0x50, 0x53, 0x55, 0x31]);
  new DataView(out.buffer).setUint32(4, header.length);
  out.set(header, 8);
  out.set(chunk, 8 + header.length);
  return out;
}

/** sha256 needs a secure context: https, or a loopback address, also of the pages that embed this one. */
export async function sha256(data: Blob): Promise<string> {
  if (!globalThis.crypto?.subtle) {
    throw new UploadFailed("insecure", "the browser cannot compute digests on this page", "open the page over https, or at 127.0.0.1; a page that embeds it needs https too");
  }
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await data.arrayBuffer()));
  return Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** formatOf tells the format of an archive by its first bytes. */
export async function formatOf(data: Blob): Promise<"zip" | "tar_gz" | undefined> {
  const [a, b, c, d] = new Uint8Array(await data.slice(0, 4).arrayBuffer());
  if (a === 0x1f && b === 0x8b) return "tar_gz";
  if (a === 0x50 && b === 0x4b && ((c === 3 && d === 4) || (c === 5 && d === 6))) return "zip";
  return undefined;
}

function codeOf(err: unknown): string {
  const code = (err as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function failure(err: unknown): UploadFailed {
  if (err instanceof UploadFailed) return err;
  const e = err as { message?: string; hint?: string };
  return new UploadFailed(codeOf(err) || "page", e.message ?? String(err), e.hint ?? "");
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
