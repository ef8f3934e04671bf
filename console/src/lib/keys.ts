import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, (e: KeyboardEvent) => void>;

/** typing reports that a key goes into a field. */
export function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return Boolean(t?.closest?.("input, textarea, select, [contenteditable]"));
}

/** useKeys handles keys of a view: not those of fields, of dialogs, or with a modifier. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const down = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e) || document.querySelector("dialog[open]")) return;
      const f = current.current[e.key];
      if (!f) return;
      // Enter and Space belong to the focused button or link.
      if (e.key === "Enter" && (e.target as HTMLElement).closest("a, button, summary")) return;
      e.preventDefault();
      f(e);
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, []);
}
