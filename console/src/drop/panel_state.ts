// The drops that the panel shows, and whether it is open. The parts of the panel and the layer around it share this state.

import { signal } from "@preact/signals";
import { canWrite, over, session } from "../api/session";
import { S } from "../strings";
import { toast } from "../ui/Toast";
import type { Node } from "./collect";
import { Drop } from "./drops";
import { tools } from "./tools";

/** dropPanelOpen says that the panel with the drops is shown. */
export const dropPanelOpen = signal(false);
/** drops are those that the panel shows, newest first. They live as long as the page, also over a login. */
export const drops = signal<readonly Drop[]>([]);

let next = 1;

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

/** titleOf says how far a drop is. */
export function titleOf(d: Drop): string {
  const stage = d.stage.value;
  const parts = d.parts.value;
  if (stage !== "choosing" || parts.some((p) => p.rows.value.some((r) => r.goes))) return S.drop.stageTitle[stage]!;
  return parts.some((p) => p.installed.value.size > 0) ? S.drop.finished : S.drop.undecided;
}
