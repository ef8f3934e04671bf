// A client of pannier, the sidecar that keeps an agent's skills live. One file, no dependencies, Node 18+.
// The types are in pannier.d.mts.

import { createHash } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const ANSWER_TIMEOUT = 60_000; // milliseconds of silence before an answer is given up
const CALL_TIMEOUT = 600_000; // for the call of a tool: the wait for its turn, and the call itself
const SILENCE = 45_000; // milliseconds after which a stream is lost; the sidecar sends a ping every 15 s
const FIRST_WAIT = 100, LONGEST_WAIT = 5_000; // milliseconds between two tries to connect

/**
 * The socket that the sidecar serves by default, which `pannier socket` prints. The first that applies: $PANNIER_SOCKET;
 * /run/pannier for root; $XDG_RUNTIME_DIR/pannier; $XDG_STATE_HOME/pannier; $HOME/.local/state/pannier. Relative
 * directories do not count. Without any of them it is empty.
 */
export function defaultSocket(environ = process.env, uid = process.geteuid?.()) {
  if (environ.PANNIER_SOCKET) return environ.PANNIER_SOCKET;
  if (uid === 0) return "/run/pannier/pannier.sock";
  for (const [variable, below] of [["XDG_RUNTIME_DIR", ""], ["XDG_STATE_HOME", ""], ["HOME", ".local/state"]]) {
    if (environ[variable]?.startsWith("/")) return path.join(environ[variable], below, "pannier", "pannier.sock");
  }
  return "";
}

/** What went wrong, and what to do about it. `code` is stable; `status` is 0 where there was no whole answer. */
export class PannierError extends Error {
  constructor(status, code, detail, hint = "", cause = undefined) {
    super(`${detail} (${code})${hint && `; hint: ${hint}`}`, { cause });
    this.name = "PannierError";
    Object.assign(this, { status, code, detail, hint });
  }
}

/** Asks one sidecar. It keeps no connection between two calls. */
export class Pannier {
  constructor(socket = defaultSocket()) {
    this.socket = socket;
  }

  /** The skills section of the system prompt; empty where there is no skill. */
  prompt() {
    return this.#read("GET", "/v1/prompt", { headers: { Accept: "text/plain" } });
  }

  /** Which skills are active for what a user wrote. `turn` has the other fields of a turn, such as capabilities. */
  async resolve(text, turn = {}) {
    return JSON.parse(await this.#read("POST", "/v1/resolve", { body: JSON.stringify({ text, ...turn }) }));
  }

  /** What an agent needs to follow a skill. */
  async content(slug) {
    return JSON.parse(await this.#read("GET", `${skill(slug)}/content`));
  }

  /** A file of a skill, byte for byte. `path` is one of the `resources` of its content. */
  async file(slug, path) {
    const escaped = path.split("/").map(encodeURIComponent).join("/");
    try {
      const response = await this.#ask("GET", `${skill(slug)}/files/${escaped}`);
      const data = await buffer(response);
      const digest = createHash("sha256").update(data).digest("hex");
      if (response.headers.etag === `"sha256:${digest}"`) return data;
    } catch (error) {
      throw this.#explain(error);
    }
    throw new PannierError(0, "torn", `${path} of ${slug} has changed while it was read`, "try again");
  }

  /** Every skill that was found, usable or not. */
  async skills() {
    return JSON.parse(await this.#read("GET", "/v1/skills")).skills;
  }

  /** The tools of all usable skills. Those with `callable` can be called now; `why` says why others cannot. */
  async tools() {
    return JSON.parse(await this.#read("GET", "/v1/tools")).tools;
  }

  /**
   * Calls a tool of a skill. A refused call is thrown. `call` has the other fields of a call: call_id, session,
   * project_dir. A result with `proxy` names a tool of your agent, for your agent to call.
   */
  async callTool(name, args = {}, call = {}) {
    const body = JSON.stringify({ arguments: args, ...call });
    return JSON.parse(await this.#read("POST", `/v1/tools/${encodeURIComponent(name)}`, { body, timeout: CALL_TIMEOUT }));
  }

  /**
   * The events after a number, else those from now on, until `signal` aborts: a lost stream is opened again.
   *
   * Two events come from here and not from the sidecar. After `connected`, read what you need: nothing that changes
   * from then on goes untold. `disconnected`, with the `error`, comes once each time the sidecar is lost.
   *
   * An event with `gap` does not follow the last one: the sidecar does not keep those between any more, and tells the
   * whole catalog instead, with every slug in `added`. Read skills() again rather than add to what you know.
   */
  async *events(lastEventId, { signal } = {}) {
    let wait = FIRST_WAIT, told = false;
    while (!signal?.aborted) {
      const headers = lastEventId === undefined ? {} : { "Last-Event-ID": String(lastEventId) };
      let stream;
      try {
        stream = await this.#ask("GET", "/v1/events", { headers, signal, timeout: SILENCE });
        told = false;
        yield { type: "connected" };
        for await (const event of parse(stream)) {
          event.gap = lastEventId !== undefined && event.seq !== lastEventId + 1;
          lastEventId = event.seq; // smaller than before where the sidecar began anew
          wait = FIRST_WAIT;
          yield event;
          if (signal?.aborted) return; // rather than give what has come already
        }
        throw new PannierError(0, "stream_ended", "the sidecar ended the event stream");
      } catch (cause) {
        if (signal?.aborted) return;
        const error = this.#explain(cause);
        const final = !(error instanceof PannierError) || (error.status >= 400 && error.status < 500);
        if (final) throw error; // asking again would not help
        if (!told) {
          told = true;
          yield { type: "disconnected", error };
        }
      } finally {
        stream?.destroy();
      }
      await sleep(wait * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {}); // the loop sees the abort
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  }

  /** The text of an answer. */
  async #read(method, path, options) {
    try {
      return await text(await this.#ask(method, path, options));
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** An answer, still unread. One that is an error is thrown. */
  async #ask(method, path, { body, headers, timeout = ANSWER_TIMEOUT, signal } = {}) {
    const response = await new Promise((resolve, reject) => {
      // agent: false is a connection of its own, so that none is used that a restart of the sidecar has cut.
      const request = http.request({ socketPath: this.socket, agent: false, method, path, headers, timeout, signal });
      request.on("timeout", () => request.destroy(Object.assign(new Error("it is silent"), { code: "ETIMEDOUT" })));
      request.on("response", resolve).on("error", reject).end(body);
    });
    if (response.statusCode !== 200) throw errorOf(response, await text(response));
    return response;
  }

  /** The error of a connection as one that says what to do; any other as it is. */
  #explain(error) {
    if (error instanceof PannierError || error.name === "AbortError" || !error.code) return error;
    const hint = "is `pannier run` up, and is this its socket? PANNIER_SOCKET names another";
    return new PannierError(0, "no_answer", `no answer from ${this.socket}: ${error.message}`, hint, error);
  }
}

/** The path of a skill. A slug of dots must not name a parent directory. */
function skill(slug) {
  return `/v1/skills/${encodeURIComponent(slug).replaceAll(".", "%2E")}`;
}

/** The error that an answer tells, or what stands for it where something else than a sidecar answered. */
function errorOf({ statusCode, statusMessage }, body) {
  try {
    const { code, detail, hint } = JSON.parse(body);
    if (code && detail) return new PannierError(statusCode, code, detail, hint);
  } catch {} // no JSON
  return new PannierError(statusCode, "unexpected_answer", body.trim() || statusMessage);
}

/** The events of a stream. Comments, such as `: ping`, are none, and nor is one that was cut off. */
async function* parse(stream) {
  let rest = "", data = [];
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data:")) {
        data.push(line.slice("data:".length));
      } else if (line === "" && data.length > 0) {
        yield JSON.parse(data.join("\n"));
        data = [];
      }
    }
  }
}
