// The drop zone: everywhere in the page, with pickers for keyboards and for browsers without drag and drop.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { canWrite, embedded, over, session } from "../api/session";
import { S } from "../strings";
import { DropIcon } from "../ui/icons";
import { fromTransfer } from "./collect";
import { DropPanel } from "./Panel";
import { addDrop, closeDropPanel, dropPanelOpen, drops, openDropPanel, titleOf } from "./panel_state";

const dragging = signal(false);

const carriesFiles = (e: DragEvent): boolean => e.dataTransfer?.types.includes("Files") ?? false;

/** startDrops takes every drop of files on the page; otherwise the browser would open the file instead of the page. */
export function startDrops(): void {
  let depth = 0;
  const end = (): void => {
    depth = 0;
    dragging.value = false;
  };
  addEventListener("dragenter", (e) => {
    if (!carriesFiles(e)) return;
    e.preventDefault();
    depth++;
    dragging.value = true;
  });
  addEventListener("dragover", (e) => {
    if (!carriesFiles(e)) return;
    e.preventDefault();
    e.dataTransfer!.dropEffect = session.peek() && !canWrite() ? "none" : "copy";
  });
  addEventListener("dragleave", (e) => {
    if (carriesFiles(e) && --depth <= 0) end();
  });
  addEventListener("drop", (e) => {
    if (!carriesFiles(e)) return;
    e.preventDefault();
    end();
    addDrop(fromTransfer(e.dataTransfer!));
  });
  addEventListener("beforeunload", (e) => {
    if (drops.peek().some((d) => d.working)) e.preventDefault();
  });
}

/** DropLayer shows what is dragged and dropped, above the page. */
export function DropLayer({ children }: { children: ComponentChildren }) {
  return (
    <>
      {children}
      {dragging.value && (
        <div class="drop-overlay" aria-hidden="true">
          <div>
            <DropIcon />
            <strong>{S.drop.here}</strong>
            <p>{session.value && !canWrite() ? S.drop.readOnly : S.drop.hereHint}</p>
          </div>
        </div>
      )}
      {!embedded && <DropPanel open={dropPanelOpen.value && !over.value} drops={drops.value} onClose={closeDropPanel} />}
    </>
  );
}

/** DropBar leads back to drops that go on while the panel is closed. */
export function DropBar() {
  const working = drops.value.filter((d) => !["failed", "cancelled"].includes(d.stage.value));
  if (embedded || dropPanelOpen.value || working.length === 0) return null;
  return (
    <div class="bar" role="status">
      <span>{titleOf(working[0]!)}</span>
      <button type="button" class="button quiet small" onClick={openDropPanel}>
        {S.drop.show}
      </button>
    </div>
  );
}
