import { signal } from "@preact/signals";

/** Route is what the fragment of the address says: #/VIEW/SLUG?params. */
export interface Route {
  view: string;
  slug: string;
  params: Readonly<Record<string, string>>;
}

export const views = ["skills", "turn", "card", "activity", "health"] as const;

/** writeDelay bounds how often setParams writes the address: browsers refuse more than some 100 writes in 30 s. */
export const writeDelay = 300;

/** parse reads a fragment. What is unknown leads to the skills. */
export function parse(hash: string): Route {
  const [path = "", search = ""] = split(hash.replace(/^#\/?/, ""), "?");
  const [view = "", slug = ""] = split(path, "/");
  const params: Record<string, string> = {};
  for (const [k, v] of new URLSearchParams(search)) params[k] = v;
  // The list had a page of its own for the switches.
  if (view === "switches") return { view: "skills", slug: "", params: params.q ? { q: params.q } : {} };
  if (!(views as readonly string[]).includes(view)) return { view: "skills", slug: "", params: {} };
  return { view, slug: decode(slug), params };
}

/** format writes a fragment. */
export function format(view: string, slug = "", params: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v) q.set(k, v);
  const s = q.toString();
  return "#/" + view + (slug ? "/" + encodeURIComponent(slug) : "") + (s ? "?" + s : "");
}

function split(s: string, at: string): [string, string] {
  const i = s.indexOf(at);
  return i < 0 ? [s, ""] : [s.slice(0, i), s.slice(i + 1)];
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

/** Address is what the router needs of a browser. */
export interface Address {
  get(): string;
  replace(hash: string): void;
  push(hash: string): void;
  onChange(f: () => void): void;
  timer(f: () => void, ms: number): () => void;
}

/** makeRouter returns a router for an address. */
export function makeRouter(address: Address) {
  const route = signal(parse(address.get()));
  // seen is the fragment that the route was read from or written to. If the address holds another one, it was changed from
  // outside, and that counts, also before the browser says so.
  let seen = address.get();
  let pending: (() => void) | null = null;

  function drop(): void {
    pending?.();
    pending = null;
  }

  function read(): void {
    drop();
    seen = address.get();
    route.value = parse(seen);
  }

  function changedOutside(): boolean {
    return address.get() !== seen;
  }

  /** flush writes a pending change of the parameters at once. */
  function flush(): void {
    if (!pending) return;
    drop();
    if (changedOutside()) return read();
    const r = route.peek();
    const hash = format(r.view, r.slug, r.params);
    if (hash !== seen) address.replace(hash);
    seen = address.get();
  }

  /** navigate goes to a view; Back returns from it. */
  function navigate(view: string, slug = "", params: Record<string, string | undefined> = {}): void {
    flush();
    const hash = format(view, slug, params);
    if (hash !== address.get()) address.push(hash);
    seen = address.get();
    route.value = parse(hash);
  }

  /** setParams changes parameters of the route in place. The address follows a little later, and Back skips it. */
  function setParams(params: Record<string, string | undefined>): void {
    if (changedOutside()) read();
    const r = route.peek();
    const merged: Record<string, string> = {};
    for (const [k, v] of Object.entries({ ...r.params, ...params })) if (v) merged[k] = v;
    route.value = { ...r, params: merged };
    pending ??= address.timer(() => flush(), writeDelay);
  }

  address.onChange(() => {
    if (changedOutside()) read();
  });
  return { route, navigate, setParams, flush };
}

const browser: Address = {
  get: () => location.hash,
  replace: (hash) => history.replaceState(null, "", hash),
  push: (hash) => history.pushState(null, "", hash),
  onChange(f) {
    addEventListener("hashchange", f);
    addEventListener("popstate", f);
  },
  timer(f, ms) {
    const t = setTimeout(f, ms);
    return () => clearTimeout(t);
  },
};

const none: Address = { get: () => "", replace() {}, push() {}, onChange() {}, timer: () => () => {} };

export const { route, navigate, setParams, flush } = makeRouter(typeof location === "undefined" ? none : browser);

/** href is the address of a view for a link. */
export const href = format;
