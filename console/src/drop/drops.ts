// A drop from the mouse to the installed skills: find, pack, upload, ask what would happen, let choose, install.

import { computed, signal } from "@preact/signals";
import { collect, excess, grouped, TooManyFiles, type Collected, type Excess, type FoundSkill, type Limits, type Node } from "./collect";
import { itemsOf, rowOf, startsNamed, toInstall, type Choice, type Result, type Row } from "./plan";
import { zipExcess } from "./zip";
import { formatOf, Lost, SessionEnded, Upload, UploadFailed, type Connect, type Progress } from "./upload";

export type Stage = "reading" | "packing" | "uploading" | "choosing" | "installing" | "failed" | "cancelled";

/** Tools are what a drop needs of the page; tests replace them. */
export interface Tools {
  connect: Connect;
  pack: (skills: readonly FoundSkill[], options: { onProgress: (done: number, total: number) => void; signal: AbortSignal }) => Promise<Blob>;
  /** limits waits for a login if there is none: they are the sidecar's. */
  limits: () => Promise<{ limits: Limits; skip?: readonly string[]; compressedBytes: number }>;
  delay?: (ms: number) => Promise<void>;
  /** installed and failed report what a drop has done, for example to a page that embeds this one. */
  installed?: (results: readonly Result[]) => void;
  failed?: (fault: Fault) => void;
  /** offer has the model offered these skills. */
  offer: (installed: readonly Result[]) => Promise<void>;
}

/** Fault is why a drop, or a part of it, ended. The page has texts for the codes that begin with "drop.". */
export interface Fault {
  code: string;
  detail: string;
  hint: string;
}

const retryMs = [500, 1000, 2000, 4000, 8000];

/** Part is one upload of a drop: all dropped folders together, or one dropped archive. */
export class Part {
  readonly upload: Upload;
  readonly progress = signal<Progress>({ phase: "preparing", sent: 0, total: 0, retryAt: 0, restarted: false, resumed: 0 });
  /** what the last dry run said */
  readonly results = signal<readonly Result[]>([]);
  readonly choices = signal<ReadonlyMap<string, Choice>>(new Map());
  /** what the installations said, by path; only those that succeeded */
  readonly installed = signal<ReadonlyMap<string, Result>>(new Map());
  readonly failed = signal<ReadonlyMap<string, Result>>(new Map());
  readonly checking = signal(false);
  readonly fault = signal<Fault | null>(null);
  /** "lost" or "session" while a call waits for a connection or a login */
  readonly waiting = signal("");
  /** the connection was lost in an installation, and what came of it was read afterwards */
  readonly interrupted = signal(false);
  readonly rows = computed<Row[]>(() =>
    this.results.value.filter((r) => !this.installed.value.has(r.path)).map((r) => rowOf(this.failed.value.get(r.path) ?? r, this.choices.value.get(r.path))),
  );
  private again = false;
  private readonly tools: Tools;

  constructor(
    readonly name: string,
    data: Blob,
    format: "zip" | "tar_gz",
    /** where the folder of each path lay in what was dropped */
    readonly from: ReadonlyMap<string, string>,
    tools: Tools,
    /** the dropped folders by path; without those of archives */
    readonly local: ReadonlyMap<string, FoundSkill> = new Map(),
  ) {
    this.tools = tools;
    this.upload = new Upload(data, tools.connect, { fileName: name, format, onChange: (p) => (this.progress.value = p), delay: tools.delay });
  }

  /** send uploads the archive and asks what would happen. */
  async send(): Promise<void> {
    try {
      await this.upload.run();
      await this.check();
    } catch (err) {
      this.fault.value = faultOf(err);
    }
  }

  choose(path: string, change: Partial<Choice>): Promise<void> {
    const choices = new Map(this.choices.value);
    choices.set(path, { ...choices.get(path), ...change });
    this.choices.value = choices;
    const failed = new Map(this.failed.value);
    failed.delete(path);
    this.failed.value = failed;
    return "skip" in change ? Promise.resolve() : this.check();
  }

  /** check is the dry run with what was chosen. Of several that are asked for while one runs, one follows. */
  async check(): Promise<void> {
    if (this.checking.value) {
      this.again = true;
      return;
    }
    this.checking.value = true;
    this.fault.value = null;
    try {
      do {
        this.again = false;
        this.results.value = await this.results_(true, itemsOf(this.choices.value));
      } while (this.again);
    } catch (err) {
      this.fault.value = faultOf(err);
    } finally {
      this.checking.value = false;
    }
  }

  /** install installs what goes. A connection that is lost meanwhile leaves the outcome open; a dry run tells it. */
  async install(): Promise<void> {
    const rows = this.rows.value;
    if (!rows.some((r) => r.goes)) return;
    try {
      const results = await this.results_(false, toInstall(this.rowsOfAll(), this.choices.value));
      const wanted = new Set(rows.filter((r) => r.goes).map((r) => r.path));
      this.record(results.filter((r) => wanted.has(r.path)));
    } catch (err) {
      if (!(err instanceof Lost) && !(err instanceof SessionEnded)) {
        this.fault.value = faultOf(err);
        return;
      }
      this.interrupted.value = true;
      await this.check();
      // What lies there now was installed by this drop: it is told so, and offered as was chosen.
      const went = new Map(rows.filter((r) => r.goes).map((r) => [r.path, r.verdict === "update" ? "updated" : "installed"]));
      const there = this.results.value.filter((r) => went.has(r.path) && rowOf(r).verdict === "same");
      this.record(there.map((r) => ({ ...r, result: { ...r.result!, status: went.get(r.path)! } })));
    }
  }

  /** discard frees what the sidecar keeps of the upload. */
  async discard(): Promise<void> {
    this.upload.cancel();
    if (this.progress.value.phase !== "ready") return;
    const socket = await this.tools.connect().catch(() => undefined);
    await socket?.call("skills/upload/abort", { upload_id: this.upload.uploadId }).catch(() => undefined);
    socket?.close();
  }

  private rowsOfAll(): Row[] {
    const open = new Map(this.rows.value.map((r) => [r.path, r]));
    return this.results.value.map((r) => open.get(r.path) ?? rowOf(r, { skip: true }));
  }

  private record(results: readonly Result[]): void {
    const installed = new Map(this.installed.value);
    const failed = new Map(this.failed.value);
    for (const r of results) (r.ok ? installed : failed).set(r.path, r);
    this.tools.installed?.(results.filter((r) => r.ok));
    for (const r of results) if (r.error) this.tools.failed?.({ code: r.error.code, detail: r.error.detail, hint: "" });
    this.installed.value = installed;
    this.failed.value = failed;
  }

  /** results_ asks the sidecar. A dry run is repeated until it is answered; an installation is not. */
  private async results_(dry: boolean, items: unknown[]): Promise<readonly Result[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        const params = { source: { type: "uploaded_archive", upload_id: this.upload.uploadId }, several: true, dry_run: dry, ...(items.length > 0 ? { items } : {}) };
        const answer = (await ask(this.tools.connect, "skills/install", params)) as { results: Result[] };
        this.waiting.value = "";
        return answer.results;
      } catch (err) {
        if (Upload.isForgotten(codeOf(err)) && attempt < retryMs.length) {
          this.upload.forget();
          await this.upload.run();
          continue;
        }
        if (!dry) throw err;
        await this.wait(err, attempt);
      }
    }
  }

  private async wait(err: unknown, attempt: number): Promise<void> {
    if (err instanceof SessionEnded) {
      this.waiting.value = "session";
      await err.renewed;
    } else if (err instanceof Lost) {
      this.waiting.value = "lost";
      const ms = retryMs[Math.min(attempt, retryMs.length - 1)]!;
      await (this.tools.delay ?? ((t: number) => new Promise<void>((r) => setTimeout(r, t))))(ms);
    } else {
      throw err;
    }
  }
}

/** ask makes one call on a connection of its own. */
async function ask(connect: Connect, method: string, params: Record<string, unknown>): Promise<unknown> {
  const socket = await connect();
  try {
    return await Promise.race([socket.call(method, params), socket.closed.then(() => Promise.reject(new Lost()))]);
  } finally {
    socket.close();
  }
}

/** Drop is what was dropped at one time. */
export class Drop {
  readonly stage = signal<Stage>("reading");
  readonly seen = signal(0);
  readonly found = signal<Collected | null>(null);
  /** skills that the sidecar would refuse, which are not sent */
  readonly excesses = signal<readonly Excess[]>([]);
  readonly packed = signal<{ done: number; total: number }>({ done: 0, total: 0 });
  readonly parts = signal<readonly Part[]>([]);
  readonly fault = signal<Fault | null>(null);
  /** new skills, and replaced ones without a policy, are offered to the model once they are installed */
  readonly offered = signal(false);
  private readonly stop = new AbortController();

  constructor(
    readonly id: number,
    private readonly nodes: Node[],
    private readonly tools: Tools,
  ) {}

  async run(): Promise<void> {
    try {
      const { limits, skip, compressedBytes } = await this.tools.limits();
      const found = await collect(this.nodes, { skip, signal: this.stop.signal, onProgress: (n) => (this.seen.value = n) });
      this.found.value = found;
      const excesses = found.skills.map((s) => excess(s, limits));
      this.excesses.value = excesses.filter((e) => e !== undefined);
      const fit = found.skills.filter((_, i) => !excesses[i]);
      const parts = [...(await this.folders(fit, limits)), ...(await this.archives(found, limits))];
      if (parts.length === 0) return this.fail(this.nothing(found));
      this.parts.value = parts;
      for (const p of parts) {
        if (p.upload.state.total > compressedBytes) p.fault.value = { code: "drop.too_large", detail: String(p.upload.state.total), hint: String(compressedBytes) };
      }
      this.stage.value = "uploading";
      for (const p of parts) if (!p.fault.value && !this.stop.signal.aborted) await p.send();
      if (!this.stop.signal.aborted) this.stage.value = "choosing";
    } catch (err) {
      if (!this.stop.signal.aborted) this.fail(faultOf(err));
    }
  }

  /** install installs what goes in all parts. */
  async install(): Promise<void> {
    this.stage.value = "installing";
    for (const p of this.parts.value) await p.install();
    if (this.offered.value) await this.tools.offer(this.parts.value.flatMap((p) => [...p.installed.value.values()]).filter((r) => r.result?.status === "installed" || startsNamed(r)));
    this.stage.value = "choosing";
  }

  cancel(): void {
    this.stop.abort();
    this.stage.value = "cancelled";
    for (const p of this.parts.value) void p.discard();
  }

  /** working reports that closing the drop would end something. */
  get working(): boolean {
    return ["reading", "packing", "uploading", "installing"].includes(this.stage.value);
  }

  private fail(fault: Fault): void {
    this.fault.value = fault;
    this.tools.failed?.(fault);
    this.stage.value = "failed";
  }

  private nothing(found: Collected): Fault {
    const code = this.excesses.value.length > 0 ? "drop.excess" : found.notSearched.length > 0 ? "drop.hidden" : "drop.no_skill";
    return { code, detail: found.empty.join(", "), hint: "" };
  }

  private async folders(skills: readonly FoundSkill[], limits: Limits): Promise<Part[]> {
    if (skills.length === 0) return [];
    this.stage.value = "packing";
    const onProgress = (done: number, total: number): void => void (this.packed.value = { done, total });
    // A SKILL.md alone has no folder, and no other skill has room beside it in an archive.
    const inFolders = skills.filter((s) => s.folder);
    const groups = [...grouped(inFolders, limits), ...skills.filter((s) => !s.folder).map((s) => [s])].filter((g) => g.length > 0);
    const parts: Part[] = [];
    for (const group of groups) {
      const data = await this.tools.pack(group, { onProgress, signal: this.stop.signal });
      const name = group.length === 1 ? `${group[0]!.folder || "skill"}.zip` : parts.length === 0 ? "skills.zip" : `skills-${parts.length + 1}.zip`;
      parts.push(new Part(name, data, "zip", new Map(group.map((s) => [s.folder, s.from])), this.tools, new Map(group.map((s) => [s.folder, s]))));
    }
    return parts;
  }

  private async archives(found: Collected, limits: Limits): Promise<Part[]> {
    const parts: Part[] = [];
    for (const a of found.archives) {
      const format = await formatOf(a.data);
      const tooMuch = format === "zip" && (await zipExcess(a.name, a.data, limits));
      if (tooMuch) {
        this.excesses.value = [...this.excesses.value, tooMuch];
        continue;
      }
      const part = new Part(a.name, a.data, format ?? "zip", new Map(), this.tools);
      if (!format) part.fault.value = { code: "drop.format", detail: a.name, hint: "" };
      parts.push(part);
    }
    return parts;
  }
}

function codeOf(err: unknown): string {
  const code = (err as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function faultOf(err: unknown): Fault {
  if (err instanceof TooManyFiles) return { code: "drop.too_many", detail: String(err.seen), hint: "" };
  const e = err as { name?: string; message?: string; detail?: string; hint?: string; path?: string };
  if (e.name === "FileChanged") return { code: "drop.changed", detail: e.path ?? "", hint: "" };
  if (e.name === "NotFoundError" || e.name === "NotReadableError") return { code: "drop.changed", detail: e.message ?? "", hint: "" };
  return { code: codeOf(err) || "page", detail: e.detail ?? e.message ?? String(err), hint: e.hint ?? (err instanceof UploadFailed ? err.hint : "") };
}
