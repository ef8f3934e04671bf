import { signal } from "@preact/signals";
import { ApiProblem, asProblem, auth, get, send } from "./client";
import type { Config, Session } from "./model";
import { ask, onAnswer } from "./shared";

const key = "pannier.token";

/** token is that of this tab; empty before the login. The tabs of one origin share it as long as one of them is open. */
export const token = signal("");
/** session says who is logged in; null before the login. It stays after its end, so that nothing disappears that a person typed. */
export const session = signal<Session | null>(null);
/** flags are the flags of a command that reaches the same sidecar, quoted for a shell; empty where they are not known. */
export const flags = signal("");
/** over says that the session has ended and the next request needs a new login. */
export const over = signal(false);
/** embedded is set where the page is a part of another page, which hands over the token. */
export const embedded = typeof location !== "undefined" && location.pathname.startsWith("/console/embed/");
/** config says how to log in; null until it is read. */
export const config = signal<Config | null>(null);
/** ended holds why the session ended, or why the login failed. */
export const ended = signal<ApiProblem | null>(null);
/** starting is true until the first login attempt has ended. */
export const starting = signal(true);

/** canWrite reports whether buttons that change something are shown. */
export const canWrite = (): boolean => session.value?.write ?? false;

auth.token = () => token.peek();
auth.ended = (used, problem) => {
  // An answer to a request of an older token says nothing about the present one.
  if (used !== token.peek()) return;
  store("");
  over.value = true;
  ended.value = problem;
  if (embedded) return askParent();
  ask({ type: "forget", token: used, logout: false });
  ask({ type: "ask" }); // another tab may have logged in again
};

// A frame in another page has the token that this page gave it, and neither shares it nor takes that of a tab.
let answered = (): void => {};
if (!embedded) {
  onAnswer((a) => {
    if (a.type === "logout") forget();
    if (a.type !== "token") return;
    if (a.token && a.token !== token.peek() && (over.peek() || !session.peek())) {
      keepFlags(a.flags);
      void login(a.token).then(answered);
    } else answered();
  });
}

/** shareDelay is how long a new tab waits for the token of another one. */
const shareDelay = 1_000;

/** takeShared logs in with the token of another tab of this origin, if there is one. */
function takeShared(): Promise<void> {
  return new Promise((resolve) => {
    answered = resolve;
    setTimeout(resolve, shareDelay);
    ask({ type: "ask" });
  });
}

function store(value: string): void {
  token.value = value;
  try {
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  } catch {
    // Storage may be forbidden: the token lasts as long as the page.
  }
}

function stored(): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

const flagsKey = "pannier.flags";

function keepFlags(value: string): void {
  flags.value = value;
  try {
    sessionStorage.setItem(flagsKey, value);
  } catch {
    // As for the token.
  }
}

/** takeCode returns the single-use code of the address, and removes it from there and from the history. */
export function takeCode(): string {
  const found = /^#code=([^&]+)/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname + location.search);
  return found[1]!; // codes have no letter that an address escapes
}

/** login uses a token; it is kept only if the sidecar accepts it. */
export async function login(value: string): Promise<boolean> {
  const before = token.peek();
  token.value = value;
  try {
    const s = await get<Session>("/v1/session");
    store(value);
    ended.value = null;
    session.value = s;
    over.value = false;
    if (!embedded) ask({ type: "share", token: value, flags: flags.peek() });
    return true;
  } catch (err) {
    const problem = asProblem(err);
    // The token stays where only the connection failed: the next attempt can succeed.
    if (!problem.offline) store("");
    else if (!before) token.value = "";
    ended.value = problem;
    return false;
  }
}

/** exchange trades a single-use code for a token and logs in. */
export async function exchange(code: string): Promise<boolean> {
  try {
    const answer = await send<{ token: string; flags?: string }>("POST", "/console/session", { code }, { anonymous: true });
    keepFlags(answer.flags ?? "");
    return await login(answer.token);
  } catch (err) {
    ended.value = asProblem(err);
    return false;
  }
}

function storedFlags(): string {
  try {
    return sessionStorage.getItem(flagsKey) ?? "";
  } catch {
    return "";
  }
}

/** start logs in with what the page has: a code in its address, or the token of this tab. */
export async function start(): Promise<void> {
  flags.value = storedFlags();
  const code = takeCode();
  if (embedded) listenToParent();
  addEventListener("hashchange", () => {
    const another = takeCode();
    if (another) void exchange(another);
  });
  const configured = readConfig();
  // A login does not wait for the configuration.
  if (embedded) void configured.then(askParent);
  else if (code) await exchange(code);
  else if (stored()) await login(stored());
  else await takeShared();
  await configured;
  starting.value = false;
}

async function readConfig(): Promise<void> {
  try {
    config.value = await get<Config>("/console/config.json", { anonymous: true });
  } catch (err) {
    ended.value ??= asProblem(err);
  }
}

/** askParent asks the embedding page for a token. */
function askParent(): void {
  for (const origin of config.peek()?.embed_origins ?? []) window.parent.postMessage({ type: "pannier.ready" }, origin);
}

/** isFromParent reports whether a message is one of the embedding page, and that page of an allowed origin. */
export function isFromParent(e: MessageEvent): boolean {
  return e.source === window.parent && window.parent !== window && (config.peek()?.embed_origins.includes(e.origin) ?? false);
}

/** listenToParent accepts a token from the embedding page, if its origin is allowed. */
function listenToParent(): void {
  addEventListener("message", (e: MessageEvent<{ type?: unknown; token?: unknown } | null>) => {
    if (!isFromParent(e)) return;
    if (e.data?.type === "pannier.token" && typeof e.data.token === "string") void login(e.data.token);
  });
}

/** logout forgets the token in all tabs. */
export function logout(): void {
  ask({ type: "forget", token: token.peek(), logout: true });
  forget();
}

function forget(): void {
  store("");
  ended.value = null;
  over.value = false;
  session.value = null;
}
