import { useState } from "preact/hooks";
import { query, send, skillURL } from "../../api/client";
import type { Finding, SkillDetail } from "../../api/model";
import { canWrite } from "../../api/session";
import { sentence } from "../../lib/reason";
import { S } from "../../strings";
import { touch } from "../../store";
import { Badge, severityTone } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { toast } from "../../ui/Toast";
import { Hint } from "../commands";
import { Ago } from "../parts";
import { Place } from "./places";

const tones = { allow: "ok", warn: "warn", block: "bad" } as const;

/** Scan shows the last security scan of the skill as it is now. */
export function Scan({ s, reload }: { s: SkillDetail; reload: () => void }) {
  const [accepting, setAccepting] = useState<string | null>(null);
  const v = s.scan;
  const run = async (params: Record<string, string> = {}, done = S.scan.done): Promise<void> => {
    await send("POST", skillURL(s.slug, "/scan") + query({ path: s.path, ...params }));
    touch([s.slug]);
    reload();
    toast({ kind: "ok", text: done });
  };
  const accepted = (v?.accepted ?? []).map((a) => a.rule);
  return (
    <>
      <div class="card">
        <div class="line">
          {v ? <Badge tone={tones[v.decision]}>{S.scan.decisions[v.decision]}</Badge> : <Badge>{S.scan.never}</Badge>}
          {v && (
            <span class="muted">
              {S.scan.origins[v.origin]} · <Ago time={v.at} />
            </span>
          )}
          {canWrite() && <Button onClick={() => run()}>{v ? S.scan.again : S.scan.now}</Button>}
        </div>
        <p class="hint">{v ? S.scan.meaning(v.decision, s.reasons.some((r) => r.code === "security_blocked"), v.origin) : S.scan.neverText}</p>
        {v?.truncated && <p class="hint">{S.scan.truncated}</p>}
      </div>
      {v && v.findings.length === 0 && <p class="hint">{S.scan.clean}</p>}
      <ul class="plain problems">
        {(v?.findings ?? []).map((f) => (
          <FindingItem key={f.rule + f.path + f.line} s={s} f={f} accepted={accepted.includes(f.rule)} onAccept={() => setAccepting(f.rule)} />
        ))}
      </ul>
      {v?.accepted && v.accepted.length > 0 && (
        <section class="card">
          <h2>{S.scan.accepted}</h2>
          <ul class="plain">
            {v.accepted.map((a) => (
              <li key={a.rule}>
                <code>{a.rule}</code> <span class="break">{a.reason}</span> <span class="muted">{a.at && <Ago time={a.at} />}</span>
              </li>
            ))}
          </ul>
          {canWrite() && <Button onClick={() => run({ accept: "none" }, S.scan.withdrawn)}>{S.scan.withdraw}</Button>}
        </section>
      )}
      {accepting && (
        <AcceptDialog
          rule={accepting}
          onClose={() => setAccepting(null)}
          onAccept={async (reason) => {
            await run({ accept: [...new Set([...accepted, accepting])].join(","), reason }, S.scan.acceptDone);
            setAccepting(null);
          }}
        />
      )}
    </>
  );
}

function FindingItem({ s, f, accepted, onAccept }: { s: SkillDetail; f: Finding; accepted: boolean; onAccept: () => void }) {
  return (
    <li class={`box ${f.blocking && !accepted ? "bad" : severityTone[f.severity]}`} data-rule={f.rule}>
      <p class="line">
        {accepted ? <Badge tone="ok">{S.scan.isAccepted}</Badge> : f.blocking ? <Badge tone="bad">{S.scan.blocking}</Badge> : <Badge tone={severityTone[f.severity]}>{S.severity[f.severity]}</Badge>}
        {s.files.some((file) => file.path === f.path) ? <Place s={s} file={f.path} line={f.line} /> : <span class="mono muted break">{f.path}</span>}
      </p>
      <p>
        <strong class="break">{sentence(f.message)}</strong>
      </p>
      <Hint text={f.hint} />
      <div class="line">
        <code class="muted">{f.rule}</code>
        {f.blocking && !accepted && canWrite() && (
          <Button class="small" onClick={onAccept}>
            {S.scan.accept}
          </Button>
        )}
      </div>
    </li>
  );
}

function AcceptDialog({ rule, onClose, onAccept }: { rule: string; onClose: () => void; onAccept: (reason: string) => Promise<void> }) {
  const [reason, setReason] = useState("");
  return (
    <Dialog
      title={S.scan.acceptTitle}
      open
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{S.common.cancel}</Button>
          <Button kind="danger" disabled={!reason.trim()} onClick={() => onAccept(reason.trim())}>
            {S.scan.accept}
          </Button>
        </>
      }
    >
      <p>{S.scan.acceptText}</p>
      <p>
        <code>{rule}</code>
      </p>
      <label>
        {S.scan.reason}
        <input type="text" maxLength={200} value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}
