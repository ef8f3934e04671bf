import { useEffect, useState } from "preact/hooks";
import { reasonText } from "../lib/reason";
import { useOf } from "../lib/use";
import { S } from "../strings";
import { navigate } from "../router";
import { skills } from "../store";
import { Badge, type Tone } from "../ui/Badge";
import { Button } from "../ui/Button";
import { SideBySide } from "../ui/TextDiff";
import { compare, versionOf, type FileChange } from "./compare";
import type { Part } from "./drops";
import { closeDropPanel } from "./panel_state";
import { LiveSteps } from "./Live";
import { blockingRules, droppedPath, type Conflict, type Finding, type Result, type Row, type Verdict } from "./plan";

const tones: Record<Verdict, Tone> = {
  new: "ok", update: "info", same: "plain", exists: "warn", changed: "warn", collision: "bad", blocked: "bad", missing: "warn", refused: "bad", skipped: "off",
};

/** PlanRow is one skill of a drop before it is installed: what will happen, and what can be chosen. */
export function PlanRow({ part, row }: { part: Part; row: Row }) {
  return (
    <li class="drop-row" data-path={row.path} data-verdict={row.verdict}>
      <div class="drop-row-head">
        <strong>{row.title}</strong>
        <Badge tone={tones[row.verdict]}>{S.drop.verdicts[row.verdict]}</Badge>
        {row.version && row.verdict === "new" && <span class="hint">{S.drop.version(row.version)}</span>}
        {row.conflict && row.verdict !== "collision" && row.verdict !== "new" && <Versions part={part} row={row} />}
        {row.goes && (
          <Button kind="quiet" class="small" onClick={() => part.choose(row.path, { skip: true })}>
            {S.drop.skip}
          </Button>
        )}
      </div>
      <Explain part={part} row={row} />
      <Notes part={part} row={row} />
      <Actions part={part} row={row} />
      {row.conflict && (row.verdict === "exists" || row.verdict === "changed" || row.verdict === "update") && <Difference part={part} row={row} conflict={row.conflict} />}
    </li>
  );
}

/** Versions names the installed version and the dropped one. */
function Versions({ part, row }: { part: Part; row: Row }) {
  const [dropped, setDropped] = useState(row.version);
  const local = part.local.get(row.path);
  useEffect(() => {
    if (!row.version && local) void versionOf(local).then(setDropped);
  }, [local, row.version]);
  const installed = skills.value.get(row.conflict!.path)?.version ?? row.conflict!.installed_version;
  return <span class="hint versions-line">{S.drop.fromTo(installed, row.version ?? dropped)}</span>;
}

/** Difference shows what replacing changes, before it is done. */
function Difference({ part, row, conflict }: { part: Part; row: Row; conflict: Conflict }) {
  const local = part.local.get(row.path);
  const [changes, setChanges] = useState<readonly FileChange[] | null>(null);
  if (!local) return <p class="hint">{S.drop.diff.archive}</p>;
  if (!changes) {
    return (
      <div class="buttons">
        <Button class="small" onClick={async () => setChanges(await compare(local, conflict))}>
          {S.drop.diff.show}
        </Button>
      </div>
    );
  }
  return (
    <div class="stack difference-of-drop">
      <p>{S.drop.diff.changed(changes.length)}</p>
      {changes.slice(0, shownFindings).map((c, i) => (
        <details key={c.path} open={i === 0}>
          <summary>
            <code class="break">{c.path}</code> <Badge tone={c.change === "removed" ? "bad" : c.change === "added" ? "ok" : "info"}>{S.versions.changes[c.change]}</Badge>
          </summary>
          {c.texts ? <SideBySide before={c.texts.before} after={c.texts.after} names={[S.versions.current, S.drop.diff.dropped]} /> : <p class="hint">{S.drop.diff.noText}</p>}
        </details>
      ))}
      {changes.length > shownFindings && <p class="hint">{S.common.more(changes.length - shownFindings)}</p>}
    </div>
  );
}

function Explain({ part, row }: { part: Part; row: Row }) {
  const from = part.from.get(row.path);
  switch (row.verdict) {
    case "new":
      return null;
    case "update": {
      const installed = skills.value.get(row.conflict?.path ?? "");
      return (
        <>
          <p>{S.drop.willReplace}</p>
          {row.asks && installed && useOf(installed) === "offered" && <p>{S.drop.offer.now}</p>}
        </>
      );
    }
    case "same":
      return <p>{S.drop.sameText}</p>;
    case "exists":
      return (
        <>
          <p>{S.drop.existsText}</p>
          {row.error?.code === "install.not_managed" && <p class="hint">{S.drop.notManaged}</p>}
        </>
      );
    case "changed":
      return <p>{S.drop.changedText}</p>;
    case "collision":
      return <p>{row.conflict ? S.drop.collisionText(row.conflict.slug, row.conflict.path) : row.error?.detail}</p>;
    case "skipped":
      return null;
  }
  const listed = row.findings.some((f) => f.blocking) || row.reasons.length > 0;
  return (
    <>
      {!listed && row.error && <p>{inDropped(row.error.detail, row.path, from)}</p>}
      {row.error?.hint && row.verdict === "refused" && <p class="hint">{row.error.hint}</p>}
    </>
  );
}

/** inDropped names the files in a text as the user knows them. */
function inDropped(text: string, path: string, from: string | undefined): string {
  if (!from || !path || from === path) return text;
  return text.replace(new RegExp(`(^|[\\s"\`(])${path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}/`, "g"), (_, before: string) => before + from + "/");
}

function Notes({ part, row }: { part: Part; row: Row }) {
  if (row.verdict === "skipped") return null;
  const from = part.from.get(row.path);
  return (
    <>
      {row.findings.length > 0 && <Findings findings={row.findings} path={row.path} from={from} />}
      {row.reasons.length > 0 && (
        <ul class="reasons">
          {row.reasons.map((r) => (
            <li key={r.code + r.subject}>
              {reasonText(r)} {r.remedy && <span class="hint">{r.remedy}</span>}
            </li>
          ))}
        </ul>
      )}
      {row.notes.map((note) => (
        <p key={note.message} class="hint">
          {note.path && <code>{droppedPath(note.path, note.path.startsWith(row.target ?? "/") ? row.target! : row.path, from) + (note.line ? ":" + note.line : "")}</code>} {note.message}{note.hint && <span class="hint"> · {note.hint}</span>}
        </p>
      ))}
    </>
  );
}

const shownFindings = 20;

function Findings({ findings, path, from }: { findings: readonly Finding[]; path: string; from: string | undefined }) {
  const sorted = [...findings].sort((a, b) => Number(b.blocking ?? false) - Number(a.blocking ?? false));
  return (
    <ul class="findings">
      {sorted.slice(0, shownFindings).map((f) => (
        <li key={f.rule + f.path + f.line}>
          <Badge tone={f.blocking ? "bad" : "warn"}>{f.blocking ? S.drop.blocking : f.severity}</Badge>{" "}
          <code>
            {droppedPath(f.path, path, from)}
            {f.line ? ":" + f.line : ""}
          </code>{" "}
          {f.message} {f.hint && <span class="hint">{f.hint}</span>}
        </li>
      ))}
      {sorted.length > shownFindings && <li>{S.common.more(sorted.length - shownFindings)}</li>}
    </ul>
  );
}

function Actions({ part, row }: { part: Part; row: Row }) {
  const [accepting, setAccepting] = useState(false);
  const choice = part.choices.value.get(row.path) ?? {};
  const choose = (change: Parameters<Part["choose"]>[1]): Promise<void> => part.choose(row.path, change);
  if (row.verdict === "skipped") {
    return (
      <div class="buttons">
        <Button class="small" onClick={() => choose({ skip: false })}>
          {S.drop.unskip}
        </Button>
      </div>
    );
  }
  return (
    <>
      <div class="buttons">
        {row.offer === "replace" && (
          <Button class="small" onClick={() => choose({ replace: row.conflict })}>
            {row.verdict === "changed" ? S.drop.replaceMine : S.drop.replace}
          </Button>
        )}
        {row.offer === "allow_missing" && (
          <Button class="small" title={S.drop.allowMissingHint} onClick={() => choose({ allowMissing: true })}>
            {S.drop.allowMissing}
          </Button>
        )}
        {row.offer === "accept" && !accepting && (
          <Button class="small" onClick={() => setAccepting(true)}>
            {S.drop.accept}
          </Button>
        )}
        {row.verdict === "update" && choice.replace && (
          <Button class="small" onClick={() => choose({ replace: undefined })}>
            {S.drop.keep}
          </Button>
        )}
        {row.conflict && row.verdict !== "update" && (
          <Button kind="quiet" class="small" onClick={() => (closeDropPanel(), navigate("skills", row.conflict!.slug, { path: row.conflict!.path }))}>
            {S.drop.openOther}
          </Button>
        )}
      </div>
      {accepting && row.offer === "accept" && (
        <Accept row={row} onCancel={() => setAccepting(false)} onAccept={(reason) => (setAccepting(false), choose({ accept: [...new Set([...(choice.accept ?? []), ...blockingRules(row.error)])], reason }))} />
      )}
    </>
  );
}

function Accept({ row, onCancel, onAccept }: { row: Row; onCancel: () => void; onAccept: (reason: string) => void }) {
  const [reason, setReason] = useState("");
  const submit = (e: Event): void => {
    e.preventDefault();
    if (reason.trim()) onAccept(reason.trim());
  };
  return (
    <form class="stack accept" onSubmit={submit} aria-label={S.drop.acceptTitle}>
      <p>{S.drop.acceptIntro(row.title)}</p>
      <p>
        {blockingRules(row.error).map((r) => (
          <code key={r}>{r} </code>
        ))}
      </p>
      <label>
        {S.drop.acceptReason}
        <input type="text" maxLength={400} autofocus required value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
      <div class="buttons">
        <Button kind="danger" class="small" type="submit" disabled={!reason.trim()}>
          {S.drop.acceptConfirm}
        </Button>
        <Button class="small" onClick={onCancel}>
          {S.common.cancel}
        </Button>
      </div>
    </form>
  );
}

/** Installed is one skill of a drop after its installation, on its way to the agent. */
export function Installed({ result }: { result: Result }) {
  const skill = result.result!.skill;
  const replaced = result.result!.status === "updated";
  return (
    <li class="drop-row done" data-path={result.path} data-verdict={replaced ? "replaced" : "installed"}>
      <div class="drop-row-head">
        <strong>{skill.slug}</strong>
        <Badge tone="ok">{S.drop.verdicts[replaced ? "replaced" : "installed"]}</Badge>
        {skill.version && <span class="hint">{S.drop.version(skill.version)}</span>}
        <LiveSteps slug={skill.slug} path={skill.path} />
      </div>
    </li>
  );
}
