import { useState } from "preact/hooks";
import { get, send, skillURL } from "../../../api/client";
import type { SkillDetail, ToolPermission } from "../../../api/model";
import { setPolicy } from "../../../api/policy";
import { sentence } from "../../../lib/reason";
import { S } from "../../../strings";
import { Badge, severityTone } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { toast } from "../../../ui/Toast";
import { Place } from "../places";

/** Allow gives the tools of a skill the permission to run, after it has shown what that covers, and takes it back. */
export function Allow({ s, missing, reload }: { s: SkillDetail; missing: boolean; reload: () => Promise<void> }) {
  const [shown, setShown] = useState<ToolPermission | null>(null);
  const at = "/v1/tools/permissions/" + encodeURIComponent(s.slug);
  const show = async (): Promise<void> => {
    let p = await get<ToolPermission>(at);
    if (!p.scan) {
      await send("POST", skillURL(s.slug, "/scan"));
      p = await get<ToolPermission>(at);
    }
    setShown(p);
  };
  const set = async (fingerprint: string | null): Promise<void> => {
    await setPolicy(s, { tools_allowed: fingerprint });
    setShown(null);
    await reload();
    toast({ kind: "ok", text: fingerprint ? S.tools.allowed(s.slug) : S.tools.taken(s.slug) });
  };
  return (
    <section class={missing ? "box info fix" : "box fix"}>
      <strong>{missing ? S.tools.needsPermission : S.tools.hasPermission}</strong>
      <p class="hint">{S.tools.permissionHint}</p>
      <div class="line">
        {missing && (
          <Button kind="primary" onClick={show}>
            {S.tools.allow}
          </Button>
        )}
        {s.policy?.tools_allowed && <Button onClick={() => set(null)}>{S.tools.take}</Button>}
      </div>
      <Dialog
        title={S.tools.allowTitle(s.slug)}
        open={shown !== null}
        onClose={() => setShown(null)}
        wide
        footer={
          <>
            <Button onClick={() => setShown(null)}>{S.common.cancel}</Button>
            <Button kind="primary" disabled={Boolean(shown?.refused)} onClick={() => set(shown!.fingerprint)}>
              {S.tools.allowConfirm}
            </Button>
          </>
        }
      >
        {shown && <Covered s={s} p={shown} />}
      </Dialog>
    </section>
  );
}

/** Covered says what a permission covers: files, commands, network, and what a scan found. */
function Covered({ s, p }: { s: SkillDetail; p: ToolPermission }) {
  const findings = p.scan?.findings ?? [];
  return (
    <div class="stack">
      {p.refused && (
        <div class="box bad" role="alert">
          <p>{sentence(p.refused.message)}</p>
          {p.refused.hint && <p class="hint">{sentence(p.refused.hint)}</p>}
        </div>
      )}
      <p>{S.tools.covers(p.files, S.common.bytes(p.bytes))}</p>
      <h3>{S.tools.commands}</h3>
      <ul class="rows">
        {p.tools.map((t) => (
          <li key={t.name}>
            <p class="line">
              <strong class="mono break">{t.name}</strong> <Badge>{t.kind}</Badge>
            </p>
            <p class="break">
              {t.command && <code>{t.command.join(" ")}</code>}
              {t.url && <code>{`${t.method ?? ""} ${t.url}`.trim()}</code>}
              {t.file && <Place s={s} file={t.file} />} {t.function && <code>{t.function}()</code>}
              {t.target_tool && <code>{t.target_tool}</code>}
            </p>
            {t.secrets && <p class="hint">{S.tools.secrets(t.secrets.join(", "))}</p>}
            {t.why && <p class="hint">{S.tools.stillNot(t.why.message)}</p>}
          </li>
        ))}
      </ul>
      <h3>{S.tools.reach}</h3>
      <ul class="plain">
        <li>{!p.network ? S.tools.noNetwork : p.hosts.length > 0 ? S.tools.hosts(p.hosts.join(", ")) : S.tools.anyHost}</li>
        <li>{p.env.length > 0 ? S.tools.env(p.env.join(", ")) : S.tools.noEnv}</li>
        <li>{p.project_dirs.length > 0 ? S.tools.dirs(p.project_dirs.join(", ")) : S.tools.noDirs}</li>
      </ul>
      <h3>{S.tools.scan}</h3>
      {findings.length === 0 && <p class="hint">{S.tools.noFindings}</p>}
      <ul class="rows">
        {findings.map((f) => (
          <li key={f.rule + f.path + f.line}>
            <Badge tone={f.blocking ? "bad" : severityTone[f.severity]}>{f.blocking ? S.drop.blocking : f.severity}</Badge> <Place s={s} file={f.path} line={f.line} /> {f.message}
          </li>
        ))}
      </ul>
      <p class="hint break">
        <code>{p.fingerprint}</code>
      </p>
    </div>
  );
}
