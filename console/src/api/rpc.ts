import { ApiProblem, send } from "./client";
import type { Conflict } from "./model";
import { S } from "../strings";

/** Rpc is one WebSocket with JSON-RPC 2.0. */
export interface Rpc {
  call<T>(method: string, params?: Record<string, unknown>): Promise<T>;
  /** onNotify calls a function with each notification, and returns one that ends that. */
  onNotify(listener: (method: string, params: Record<string, unknown>) => void): () => void;
  /** sendBinary sends one binary frame. */
  sendBinary(frame: ArrayBuffer | Uint8Array<ArrayBuffer>): void;
  /** buffered is the number of bytes that are not sent yet. */
  buffered(): number;
  /** closed resolves when the connection has ended, with the reason. */
  readonly closed: Promise<ApiProblem>;
  close(): void;
}

interface RpcError {
  code: number;
  message: string;
  data?: { code?: string; details?: { error?: string; hint?: string; code?: string; conflict?: Conflict } };
}

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: RpcError;
}

/** rpcProblem turns an error of JSON-RPC into what a refused request throws. */
export function rpcProblem(err: RpcError): ApiProblem {
  const d = err.data?.details ?? {};
  return new ApiProblem(400, d.code ?? err.data?.code ?? "rpc." + err.code, d.error ?? err.message, d.hint ?? "", d.conflict);
}

/** openRpc opens a WebSocket with a one-use ticket. */
export async function openRpc(): Promise<Rpc> {
  const { ticket } = await send<{ ticket: string }>("POST", "/v1/tickets");
  const url = new URL("/v1/rpc?ticket=" + encodeURIComponent(ticket), location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const ws = new WebSocket(url);
  ws.binaryType = "arraybuffer";

  const waiting = new Map<number, { resolve: (v: unknown) => void; reject: (e: ApiProblem) => void }>();
  const listeners = new Set<(method: string, params: Record<string, unknown>) => void>();
  let next = 1;
  let close!: (p: ApiProblem) => void;
  const closed = new Promise<ApiProblem>((resolve) => (close = resolve));

  ws.onmessage = (m) => {
    if (typeof m.data !== "string") return;
    const msg = JSON.parse(m.data) as Message;
    if (msg.method) {
      for (const f of [...listeners]) f(msg.method, msg.params ?? {});
      return;
    }
    const call = waiting.get(msg.id!);
    if (!call) return;
    waiting.delete(msg.id!);
    if (msg.error) call.reject(rpcProblem(msg.error));
    else call.resolve(msg.result);
  };
  ws.onclose = (e) => {
    const problem = new ApiProblem(0, "console.offline", e.reason || S.errors.socket, S.errors.offlineHint);
    for (const call of waiting.values()) call.reject(problem);
    waiting.clear();
    close(problem);
  };
  await new Promise<void>((resolve, reject) => {
    ws.onopen = () => resolve();
    void closed.then(reject);
  });

  return {
    call<T>(method: string, params: Record<string, unknown> = {}) {
      return new Promise<T>((resolve, reject) => {
        if (ws.readyState !== WebSocket.OPEN) return void closed.then(reject);
        const id = next++;
        waiting.set(id, { resolve: resolve as (v: unknown) => void, reject });
        ws.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      });
    },
    onNotify(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    sendBinary: (frame) => ws.send(frame),
    buffered: () => ws.bufferedAmount,
    closed,
    close: () => ws.close(1000),
  };
}
