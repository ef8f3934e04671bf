import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { aborted, asProblem, type ApiProblem } from "../api/client";
import { onEvent, onOpen } from "../api/events";

// One change makes several events; they lead to one request.
const coalesce = 80;

export interface Live<T> {
  data: T | undefined;
  error: ApiProblem | null;
  reload: () => Promise<void>;
}

// The last values by name, for views that are opened while the sidecar is away.
const last = new Map<string, unknown>();

/** useLive reads a value, and reads it again after events of these types and after an interruption. With a name, the last value stays for the next view of it. */
export function useLive<T>(read: (signal: AbortSignal) => Promise<T>, types: readonly string[] | "all", name = ""): Live<T> {
  const [state, setState] = useState<{ data?: T; error: ApiProblem | null }>(() => ({ data: last.get(name) as T | undefined, error: null }));
  const reading = useRef<AbortController | null>(null);
  const latest = useRef(read);
  latest.current = read;
  const reload = useCallback(async () => {
    reading.current?.abort();
    const mine = (reading.current = new AbortController());
    try {
      const data = await latest.current(mine.signal);
      if (mine.signal.aborted) return;
      if (name) last.set(name, data);
      setState({ data, error: null });
    } catch (err) {
      // The last value stays: it is better than none. The bar of the connection says why it is old.
      const error = asProblem(err);
      if (!aborted(err) && !mine.signal.aborted) setState((s) => ({ data: s.data, error: error.offline && s.data !== undefined ? null : error }));
    }
  }, []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = () => (timer ??= setTimeout(() => ((timer = undefined), void reload()), coalesce));
    const ends = [onEvent((e) => (types === "all" || types.includes(e.type)) && later()), onOpen(later)];
    void reload();
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
      reading.current?.abort();
    };
  }, []);
  return { data: state.data, error: state.error, reload };
}

/** useNow returns the time, and draws the view again every few seconds, for texts such as "5 s ago". */
export function useNow(every = 5_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** useNarrow reports whether the window is so narrow that rows take several lines. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => media().matches);
  useEffect(() => {
    const query = media();
    const change = () => setNarrow(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return narrow;
}

// As in style.css.
const media = () => matchMedia("(max-width: 720px)");
