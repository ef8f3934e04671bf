import { useRef } from "preact/hooks";
import { skills } from "../store";
import { S } from "../strings";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { DropIcon, WarnIcon } from "../ui/icons";
import { fromFiles } from "./collect";
import type { Drop, Fault, Part } from "./drops";
import { addDrop, removeDrop, titleOf } from "./panel_state";
import { counts, inOrder } from "./plan";
import { Installed, PlanRow } from "./Rows";
import { UploadProgress } from "./UploadProgress";

/** DropPanel shows the drops. Closing it stops nothing. */
export function DropPanel({ open, drops, onClose }: { open: boolean; drops: readonly Drop[]; onClose: () => void }) {
  return (
    <Dialog title={S.drop.title} open={open} onClose={onClose} wide>
      <DropZone drops={drops} onClose={onClose} />
    </Dialog>
  );
}

/** DropZone is where skills are dropped, with what was dropped below it. A frame in another page shows it without a dialog. */
export function DropZone({ drops, onClose }: { drops: readonly Drop[]; onClose: () => void }) {
  return (
    <div class="drop-panel">
      <Pickers again={drops.length > 0} />
      {drops.map((d) => (
        <DropView key={d.id} drop={d} onClose={onClose} />
      ))}
    </div>
  );
}

/** Pickers are for keyboards, and for browsers without drag and drop. */
function Pickers({ again }: { again: boolean }) {
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const take = (e: Event): void => {
    const input = e.currentTarget as HTMLInputElement;
    addDrop(fromFiles([...(input.files ?? [])]));
    input.value = "";
  };
  return (
    <div class={again ? "drop-pickers again" : "drop-pickers"}>
      {!again && <DropIcon />}
      {!again && <p>{S.drop.intro}</p>}
      <div class="buttons">
        <Button kind={again ? "plain" : "primary"} onClick={() => folder.current!.click()}>
          {S.drop.pickFolder}
        </Button>
        <Button onClick={() => files.current!.click()}>{S.drop.pickFiles}</Button>
      </div>
      {!again && <p class="hint">{S.drop.introFiles}</p>}
      <input ref={folder} type="file" hidden multiple onChange={take} data-pick="folder" {...{ webkitdirectory: true }} />
      <input ref={files} type="file" hidden multiple accept=".zip,.skill,.gz,.tgz,.md" onChange={take} data-pick="files" />
    </div>
  );
}

function DropView({ drop, onClose }: { drop: Drop; onClose: () => void }) {
  const stage = drop.stage.value;
  const parts = drop.parts.value;
  const rows = parts.flatMap((p) => p.rows.value);
  const installed = parts.some((p) => p.installed.value.size > 0);
  const finished = stage === "choosing" && installed && !rows.some((r) => r.goes);
  const title = titleOf(drop);
  return (
    <section class="drop" data-stage={finished ? "finished" : stage} aria-label={title}>
      <h3 aria-live="polite">{title}</h3>
      {stage === "reading" && <p>{S.drop.reading(drop.seen.value)}</p>}
      {stage === "packing" && <Packing drop={drop} />}
      {drop.fault.value && <FaultBox fault={drop.fault.value} />}
      <Excesses drop={drop} />
      {parts.map((p) => (
        <PartView key={p.name} part={p} title={parts.length > 1} />
      ))}
      <Omitted drop={drop} />
      <Footer drop={drop} finished={finished} onClose={onClose} />
    </section>
  );
}

function Packing({ drop }: { drop: Drop }) {
  const { done, total } = drop.packed.value;
  return (
    <>
      <progress max={total || 1} value={done} aria-label={S.drop.stageTitle.packing} />
      <p class="hint">{S.drop.progress(S.common.bytes(done), S.common.bytes(total))}</p>
    </>
  );
}

/** FaultBox says what happened and what to do. Faults of the sidecar have their own words. */
export function FaultBox({ fault }: { fault: Fault }) {
  const own = S.drop.faults[fault.code]?.(fault.detail, fault.hint) ?? { text: fault.detail, hint: fault.hint };
  return (
    <div class="box bad" role="alert" data-code={fault.code}>
      <p>{own.text}</p>
      {own.hint && <p class="hint">{own.hint}</p>}
    </div>
  );
}

function Excesses({ drop }: { drop: Drop }) {
  const all = drop.excesses.value;
  if (all.length === 0) return null;
  return (
    <div class="box warn" role="alert">
      <ul>
        {all.map((e) => (
          <li key={e.skill}>
            {e.kind === "entries" && S.drop.excess.entries(e.skill, e.count, e.limit, e.largest)}
            {e.kind === "file" && S.drop.excess.file(e.skill, e.path, S.common.bytes(e.bytes), S.common.bytes(e.limit))}
            {e.kind === "total" && S.drop.excess.total(e.skill, S.common.bytes(e.bytes), S.common.bytes(e.limit), e.largest)}
          </li>
        ))}
      </ul>
      <p class="hint">{S.drop.excess.hint}</p>
    </div>
  );
}

function PartView({ part, title }: { part: Part; title: boolean }) {
  const ready = part.progress.value.phase === "ready";
  return (
    <div class="drop-part" data-part={part.name}>
      {title && <h4>{part.name}</h4>}
      {part.fault.value && part.fault.value.code !== "cancelled" && <FaultBox fault={part.fault.value} />}
      {!ready && !part.fault.value && <UploadProgress part={part} />}
      {ready && part.progress.value.restarted && <p class="note">{S.drop.restarted}</p>}
      {ready && part.progress.value.resumed > 0 && !part.progress.value.restarted && <p class="note">{S.drop.resumed}</p>}
      {part.interrupted.value && <p class="note">{S.drop.interrupted}</p>}
      {part.waiting.value && <p class="note">{part.waiting.value === "session" ? S.drop.session : S.drop.lost}</p>}
      {part.checking.value && part.results.value.length === 0 && <p role="status">{S.drop.checking}</p>}
      {ready && !part.checking.value && !part.fault.value && part.results.value.length === 0 && <p>{S.drop.empty}</p>}
      <ul class="drop-rows" aria-busy={part.checking.value}>
        {inOrder(part.rows.value).map((row) => (
          <PlanRow key={row.path} part={part} row={row} />
        ))}
        {[...part.installed.value].map(([path, r]) => (
          <Installed key={path} result={r} />
        ))}
      </ul>
    </div>
  );
}

/** Omitted says what of the drop is not sent. */
function Omitted({ drop }: { drop: Drop }) {
  const found = drop.found.value;
  if (!found) return null;
  const leftOut = found.skills.reduce((sum, s) => sum + s.leftOutCount, 0);
  if (leftOut + found.besideCount + found.notSearched.length === 0) return null;
  return (
    <div class="drop-omitted">
      {leftOut > 0 && (
        <details>
          <summary>{S.drop.leftOut(leftOut)}</summary>
          <ul>
            {found.skills.flatMap((s) =>
              s.leftOut.map((l) => (
                <li key={s.folder + "/" + l.path}>
                  <code>
                    {s.from}/{l.path}
                  </code>{" "}
                  <span class="hint">{S.drop.leftOutWhy[l.reason]}</span>
                </li>
              )),
            )}
          </ul>
        </details>
      )}
      <Paths summary={S.drop.beside(found.besideCount)} paths={found.beside} />
      <Paths summary={S.drop.notSearched(found.notSearched.length)} paths={found.notSearched} />
    </div>
  );
}

function Paths({ summary, paths }: { summary: string; paths: readonly string[] }) {
  if (paths.length === 0) return null;
  return (
    <details>
      <summary>{summary}</summary>
      <ul>
        {paths.map((p) => (
          <li key={p}>
            <code>{p}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Offer is one choice for all new skills of a drop, and for replaced ones that pannier did not install before. */
function Offer({ drop, count, replaced }: { drop: Drop; count: number; replaced: boolean }) {
  const choice = (offered: boolean, label: string, hint: string) => (
    <label class="check">
      <input type="radio" name={"offer-" + drop.id} checked={drop.offered.value === offered} onChange={() => (drop.offered.value = offered)} />
      <span>
        {label} <span class="hint">{hint}</span>
      </span>
    </label>
  );
  return (
    <fieldset class="offer">
      <legend>{S.drop.offer.title(count, replaced)}</legend>
      {choice(false, S.uses.named!, S.useMeanings.named!)}
      {choice(true, S.drop.offer.automatically, S.useMeanings.offered!)}
    </fieldset>
  );
}

/** Outcome counts the installed skills, and those of them that the agent can use. */
function Outcome({ drop }: { drop: Drop }) {
  const done = drop.parts.value.flatMap((p) => [...p.installed.value.values()]);
  const usable = done.filter((r) => skills.value.get(r.result!.skill.path)?.usable);
  return done.length > 1 && <p class="summary">{S.drop.finishedSummary(done.length, usable.length)}</p>;
}

function Footer({ drop, finished, onClose }: { drop: Drop; finished: boolean; onClose: () => void }) {
  const stage = drop.stage.value;
  const rows = drop.parts.value.flatMap((p) => p.rows.value);
  const n = counts(rows);
  const busy = drop.parts.value.some((p) => p.checking.value);
  const goes = n.installs + n.updates;
  const asks = rows.filter((r) => r.asks).length;
  const label = n.updates === 0 ? S.drop.install(n.installs) : n.installs === 0 ? S.drop.replaceButton(n.updates) : S.drop.installAndReplace(n.installs, n.updates);
  const close = (): void => {
    removeDrop(drop);
    onClose();
  };
  return (
    <div class="drop-foot">
      {finished && <Outcome drop={drop} />}
      {stage === "choosing" && rows.length > 0 && <p class="summary">{S.drop.summary(n.installs, n.updates, n.same, n.stays, n.findings)}</p>}
      {stage === "choosing" && n.stays > 0 && goes > 0 && (
        <p class="hint">
          <WarnIcon /> {S.drop.othersWait}
        </p>
      )}
      {stage === "choosing" && asks > 0 && <Offer drop={drop} count={asks} replaced={asks > n.installs} />}
      <div class="buttons">
        {stage === "choosing" && goes > 0 && (
          <Button kind="primary" disabled={busy} onClick={() => drop.install()}>
            {label}
          </Button>
        )}
        {stage === "installing" && (
          <Button kind="primary" disabled>
            {S.drop.installing}
          </Button>
        )}
        {stage !== "installing" && (
          <Button kind={finished ? "primary" : "plain"} onClick={close}>
            {finished ? S.drop.done : drop.working ? S.drop.cancelAll : goes > 0 ? S.drop.cancel : S.drop.close}
          </Button>
        )}
      </div>
    </div>
  );
}
