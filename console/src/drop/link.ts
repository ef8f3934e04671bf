// The connection of an upload: that of src/api/rpc.ts, with its failures sorted into those that another try cures, those
// that a login cures, and the others.

import { ApiProblem, asProblem } from "../api/client";
import { openRpc, type Rpc } from "../api/rpc";
import { over, session } from "../api/session";
import { effect } from "@preact/signals";
import { Lost, SessionEnded, type Socket } from "./upload";

/** loggedIn resolves as soon as there is a session. */
export function loggedIn(): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (!session.value || over.value) return;
      resolve();
      queueMicrotask(() => stop()); // the effect runs before it is returned
    });
  });
}

/** connect opens a connection. It throws Lost, SessionEnded, or what the sidecar refuses. */
export async function connect(): Promise<Socket> {
  if (!session.peek() || over.peek()) throw new SessionEnded(loggedIn());
  let rpc: Rpc;
  try {
    rpc = await openRpc();
  } catch (err) {
    throw sorted(err);
  }
  return {
    closed: rpc.closed,
    close: () => rpc.close(),
    onNotify: (listen) => rpc.onNotify(listen),
    sendBinary: (frame) => rpc.sendBinary(frame),
    call: async (method, params) => {
      try {
        return await rpc.call(method, params);
      } catch (err) {
        throw sorted(err);
      }
    },
  };
}

function sorted(err: unknown): unknown {
  const p = asProblem(err);
  if (p.status === 401) return new SessionEnded(loggedIn());
  if (p.offline || p.status >= 500) return new Lost(p.detail);
  return p instanceof ApiProblem ? p : err;
}
