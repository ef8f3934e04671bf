// The drop zone: everywhere in the page, with pickers for keyboards and for browsers without drag and drop.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { canWrite, over, session } from "../api/session";
import { S } from "../strings";
import { toast } from "../ui/Toast";
import { DropIcon } from "../ui/icons";
import { fromTransfer, type Node } from "./collect";
import { Drop } from "./drops";
import { DropPanel } from "./Panel";
import { tools } from "./tools";

/** dropPanelOpen says that the panel with the drops is shown. */
export const dropPanelOpen = signal(false);
/** drops are those that the panel shows, newest first. They live as long as the page, also over a login. */
export const drops = signal<readonly Drop[]>([]);

let next = 1;
const dragging = signal(false);

export function openDropPanel(): void {
  dropPanelOpen.value = true;
}

export function closeDropPanel(): void {
  dropPanelOpen.value = false;
}

/** addDrop begins with what was dropped or picked. */
export function addDrop(nodes: Node[]): void {
  if (nodes.length === 0) return;
  if (session.peek() && !over.peek() && !canWrite()) {
    toast({ kind: "error", text: S.drop.readOnly });
    return;
  }
  const drop = new Drop(next++, nodes, tools);
  drops.value = [drop, ...drops.peek().filter((d) => !["failed", "cancelled"].includes(d.stage.peek()))];
  dropPanelOpen.value = true;
  void drop.run();
}

export function removeDrop(drop: Drop): void {
  drop.cancel();
  drops.value = drops.peek().filter((d) => d !== drop);
}

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
      <DropPanel open={dropPanelOpen.value && !over.value} drops={drops.value} onClose={closeDropPanel} />
    </>
  );
}

/** titleOf says how far a drop is. */
export function titleOf(d: Drop): string {
  const stage = d.stage.value;
  const parts = d.parts.value;
  if (stage !== "choosing" || parts.some((p) => p.rows.value.some((r) => r.goes))) return S.drop.stageTitle[stage]!;
  return parts.some((p) => p.installed.value.size > 0) ? S.drop.finished : S.drop.undecided;
}

/** DropBar leads back to drops that go on while the panel is closed. */
export function DropBar() {
  const working = drops.value.filter((d) => !["failed", "cancelled"].includes(d.stage.value));
  if (dropPanelOpen.value || working.length === 0) return null;
  return (
    <div class="bar" role="status">
      <span>{titleOf(working[0]!)}</span>
      <button type="button" class="button quiet small" onClick={openDropPanel}>
        {S.drop.show}
      </button>
    </div>
  );
}
