// What a frame in another page and that page tell each other.

import { effect } from "@preact/signals";
import { route } from "../router";
import { config, embedded, ended, isFromParent } from "./session";

/** The events of a frame, as `pannier.NAME`. */
export interface Told {
  installed: { slug: string; path: string; version?: string; replaced: boolean };
  selected: { slug: string; path?: string };
  height: { height: number };
  error: { code: string; message: string };
}

/** tell sends an event to the embedding page. Only pages of an allowed origin receive it. */
export function tell<K extends keyof Told>(type: K, event: Told[K]): void {
  if (!embedded || window.parent === window) return;
  for (const origin of config.peek()?.embed_origins ?? []) window.parent.postMessage({ type: "pannier." + type, ...event }, origin);
}

/** colours are those that the embedding page can set, as custom properties of the stylesheet. */
const colours: Record<string, string> = {
  accent: "--accent", on_accent: "--on-accent", accent_soft: "--accent-soft", background: "--bg", surface: "--surface", sunken: "--sunken", line: "--line", text: "--text", muted: "--muted",
};

/** setTheme takes the scheme and the colours of the embedding page. What is no colour is left as it is. */
function setTheme(theme: { scheme?: unknown; colors?: unknown }): void {
  const root = document.documentElement;
  if (theme.scheme === "light" || theme.scheme === "dark") root.dataset.theme = theme.scheme;
  else delete root.dataset.theme;
  const given = typeof theme.colors === "object" && theme.colors !== null ? (theme.colors as Record<string, unknown>) : {};
  for (const [name, property] of Object.entries(colours)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (typeof value === "string" && value.length < 100 && !/var|url/i.test(value) && CSS.supports("color", value)) root.style.setProperty(property, value);
    else root.style.removeProperty(property);
  }
}

/** startEmbed takes the theme of the embedding page, and tells it the selected skill, errors of the session, and the height of the content. */
export function startEmbed(): void {
  if (!embedded) return;
  addEventListener("message", (e) => {
    if (isFromParent(e) && e.data?.type === "pannier.theme") setTheme(e.data as { scheme?: unknown; colors?: unknown });
  });
  effect(() => {
    const { view, slug, params } = route.value;
    if (view === "skills" && slug) tell("selected", { slug, path: params.path });
  });
  effect(() => {
    if (ended.value) tell("error", { code: ended.value.code, message: ended.value.detail });
  });
  let last = 0;
  const measure = (): void => {
    const app = document.getElementById("app")!;
    const main = app.querySelector("main");
    const bars = [...app.querySelectorAll<HTMLElement>(".frame > :not(main)")].reduce((sum, e) => sum + e.offsetHeight, 0);
    const height = Math.ceil(bars + (main?.firstElementChild as HTMLElement | null)?.offsetHeight!);
    if (!height || height === last) return;
    tell("height", { height: (last = height) });
  };
  const resized = new ResizeObserver(measure);
  let watched: Element | null = null;
  new MutationObserver(() => {
    const content = document.querySelector("main > *");
    if (content && content !== watched) {
      if (watched) resized.unobserve(watched);
      resized.observe((watched = content));
    }
    measure();
  }).observe(document.getElementById("app")!, { childList: true, subtree: true });
}
