// What the tabs of one origin share: one event stream for each token, and the token itself. It runs in the shared worker, which ends
// with the last tab; nothing is stored.

import { follow, type Note, type Stream } from "./stream";

/** Request is what a tab asks for. */
export type Request =
  | { type: "follow"; token: string }
  | { type: "leave" }
  /** the tab is closed */
  | { type: "bye" }
  | { type: "retry" }
  /** a tab has logged in, and shares its token */
  | { type: "share"; token: string; flags: string }
  /** a tab asks for a token; the answer is always a "token" */
  | { type: "ask" }
  /** the token was refused, or the user has logged out */
  | { type: "forget"; token: string; logout: boolean };

/** Answer is what a tab is told. */
export type Answer = Note | { type: "token"; token: string; flags: string } | { type: "logout" };

/** Port is that of one tab. */
export interface Port {
  postMessage(answer: Answer): void;
}

interface Shared {
  stream: Stream;
  ports: Set<Port>;
  open: boolean;
}

/** Hub serves the ports of the tabs. */
export class Hub {
  private readonly streams = new Map<string, Shared>();
  /** ports are those of the tabs that share a session; embedded frames do not, since another page gave them their token. */
  private readonly sharing = new Set<Port>();
  private session = { token: "", flags: "" };

  constructor(
    private readonly address: string,
    private readonly open = follow,
  ) {}

  /** receive does what a tab asks for. */
  receive(port: Port, r: Request): void {
    switch (r.type) {
      case "follow":
        return this.follow(port, r.token);
      case "leave":
        return this.leave(port);
      case "bye":
        this.sharing.delete(port);
        return this.leave(port);
      case "retry":
        for (const s of this.streams.values()) if (s.ports.has(port)) s.stream.retry();
        return;
      case "share":
        this.sharing.add(port);
        this.session = { token: r.token, flags: r.flags };
        for (const p of this.sharing) if (p !== port) p.postMessage({ type: "token", ...this.session });
        return;
      case "ask":
        this.sharing.add(port);
        return port.postMessage({ type: "token", ...this.session });
      case "forget":
        if (this.session.token === r.token) this.session = { token: "", flags: "" };
        if (r.logout) for (const p of this.sharing) if (p !== port) p.postMessage({ type: "logout" });
    }
  }

  private follow(port: Port, token: string): void {
    this.leave(port);
    let shared = this.streams.get(token);
    if (!shared) {
      const made: Shared = { ports: new Set(), open: false, stream: { stop() {}, retry() {} } };
      this.streams.set(token, (shared = made));
      made.stream = this.open(this.address, token, (note) => this.tell(token, made, note));
    } else if (shared.open) {
      port.postMessage({ type: "open" });
    }
    shared.ports.add(port);
  }

  private tell(token: string, shared: Shared, note: Note): void {
    shared.open = note.type === "open" || note.type === "event";
    // A stream that is refused for good is forgotten, so that the next tab that asks gets a new attempt.
    if (note.type === "refused" && (note.status === 401 || note.status === 403) && this.streams.get(token) === shared) this.streams.delete(token);
    for (const p of shared.ports) p.postMessage(note);
  }

  private leave(port: Port): void {
    for (const [token, s] of this.streams) {
      if (!s.ports.delete(port) || s.ports.size > 0) continue;
      s.stream.stop();
      this.streams.delete(token);
    }
  }
}
