import { signal } from "@preact/signals";
import { S } from "../strings";
import { CloseIcon } from "./icons";

export interface ToastOptions {
  text: string;
  hint?: string;
  kind?: "info" | "ok" | "error";
  /** undo adds a button that takes back what the toast reports. */
  undo?: () => unknown;
}

interface Shown extends ToastOptions {
  id: number;
}

const limit = 4;
const shown = signal<Shown[]>([]);
let next = 1;

/** toast shows a short message below the content. Those with a fault stay until they are closed. */
export function toast(options: ToastOptions): void {
  const t = { ...options, id: next++ };
  shown.value = [...shown.value, t].slice(-limit);
  if (t.kind !== "error") setTimeout(() => dismiss(t.id), t.undo ? 10_000 : 5_000);
}

function dismiss(id: number): void {
  if (shown.value.some((t) => t.id === id)) shown.value = shown.value.filter((t) => t.id !== id);
}

/** Toasts is a part of the layout, so that it never covers a button. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((t) => (
        <div key={t.id} class={`toast ${t.kind ?? "info"}`}>
          <p>
            {t.text}
            {t.hint && <span class="hint"> {t.hint}</span>}
          </p>
          {t.undo && (
            <button type="button" class="button quiet" onClick={() => (dismiss(t.id), void t.undo!())}>
              {S.common.undo}
            </button>
          )}
          <button type="button" class="button quiet icon" aria-label={S.common.close} onClick={() => dismiss(t.id)}>
            <CloseIcon />
          </button>
        </div>
      ))}
    </div>
  );
}
