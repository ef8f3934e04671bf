import { signal } from "@preact/signals";
import type { Conflict } from "./model";
import { patience } from "../lib/stream";
import { S } from "../strings";

/** slow is how many reads wait for an answer longer than a sidecar takes. */
export const slow = signal(0);

/** ApiProblem is a refused or failed request. `status` is 0 where no answer came. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly hint = "",
    readonly conflict?: Conflict,
  ) {
    super(detail);
    this.name = "ApiProblem";
  }

  /** offline reports that the sidecar did not answer: there was no answer, or a proxy such as `pannier console` says so. */
  get offline(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

/** Auth is set by session.ts; the client holds no state of its own. */
export const auth = {
  token: (): string => "",
  /** ended is called with the answer of a request that had a token and got 401. */
  ended: (_token: string, _problem: ApiProblem): void => {},
};

export interface Options {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** anonymous sends no token. */
  anonymous?: boolean;
}

/** asProblem turns whatever was thrown into an ApiProblem. */
export function asProblem(err: unknown): ApiProblem {
  if (err instanceof ApiProblem) return err;
  return new ApiProblem(0, "console.error", err instanceof Error ? err.message : String(err));
}

/** aborted reports that a request ended because its own signal ended it. */
export function aborted(err: unknown): boolean {
  return err instanceof DOMException && err.name === "AbortError";
}

async function problemOf(res: Response): Promise<ApiProblem> {
  let body: { code?: string; detail?: string; title?: string; hint?: string; conflict?: Conflict } = {};
  try {
    body = await res.json();
  } catch {
    // Not from pannier: a proxy, or a connection that was cut.
  }
  return new ApiProblem(
    res.status,
    body.code ?? "http." + res.status,
    body.detail ?? body.title ?? S.errors.status(res.status),
    body.hint ?? "",
    body.conflict,
  );
}

/** request sends one request and returns the answer, or throws an ApiProblem. */
export async function request(method: string, path: string, body?: BodyInit, opts: Options = {}): Promise<Response> {
  const headers = new Headers(opts.headers);
  const token = opts.anonymous ? "" : auth.token();
  if (token) headers.set("Authorization", "Bearer " + token);
  let res: Response;
  let late = 0;
  const timer = method === "GET" && setTimeout(() => (slow.value += late = 1), patience);
  try {
    res = await fetch(path, { method, headers, body, signal: opts.signal, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (err) {
    if (aborted(err)) throw err;
    throw new ApiProblem(0, "console.offline", S.errors.offline, S.errors.offlineHint);
  } finally {
    if (timer) clearTimeout(timer);
    slow.value -= late;
  }
  if (res.ok) return res;
  const problem = await problemOf(res);
  if (res.status === 401 && token) auth.ended(token, problem);
  throw problem;
}

/** get reads JSON. */
export async function get<T>(path: string, opts?: Options): Promise<T> {
  return json(await request("GET", path, undefined, opts));
}

/** send sends a value as JSON, or a Blob, FormData or text as it is, and reads JSON. */
export async function send<T>(method: string, path: string, body?: unknown, opts: Options = {}): Promise<T> {
  const raw = body instanceof Blob || body instanceof FormData || typeof body === "string" || body instanceof ArrayBuffer;
  const headers = { ...opts.headers };
  if (body !== undefined && !raw) headers["Content-Type"] ??= "application/json";
  const payload = body === undefined ? undefined : raw ? (body as BodyInit) : JSON.stringify(body);
  return json(await request(method, path, payload, { ...opts, headers }));
}

/** text reads at most `max` bytes of an answer as UTF-8 and says whether there was more. */
export async function text(path: string, max: number, opts?: Options): Promise<{ text: string; more: boolean; type: string }> {
  const res = await request("GET", path, undefined, opts);
  const reader = res.body!.getReader();
  const decoder = new TextDecoder();
  let got = 0;
  let out = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const part = value.subarray(0, Math.max(0, max - got));
    got += value.length;
    out += decoder.decode(part, { stream: true });
    if (got > max) {
      void reader.cancel();
      break;
    }
  }
  return { text: out, more: got > max, type: res.headers.get("Content-Type") ?? "" };
}

async function json<T>(res: Response): Promise<T> {
  if (res.status === 204) return undefined as T;
  try {
    return (await res.json()) as T;
  } catch (err) {
    if (aborted(err)) throw err;
    throw new ApiProblem(0, "console.offline", S.errors.cut, S.errors.offlineHint);
  }
}

/** query makes "?a=1&b=2" of what is set. */
export function query(params: Record<string, string | number | boolean | undefined>): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v !== undefined && v !== "" && v !== false) q.set(k, v === true ? "1" : String(v));
  const s = q.toString();
  return s ? "?" + s : "";
}

/** skillURL is the address of a skill and of what is below it. */
export function skillURL(slug: string, below = "", params: Record<string, string | undefined> = {}): string {
  return "/v1/skills/" + encodeURIComponent(slug) + below + query(params);
}

/** fileURL is the address of one file of a skill. */
export function fileURL(slug: string, path: string): string {
  return skillURL(slug, "/files/" + path.split("/").map(encodeURIComponent).join("/"));
}
