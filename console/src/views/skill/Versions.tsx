import { useState } from "preact/hooks";
import { ApiProblem, get, send, skillURL } from "../../api/client";
import type { SkillDetail } from "../../api/model";
import { canWrite } from "../../api/session";
import { touch } from "../../store";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { toast } from "../../ui/Toast";
import { useLive } from "../live";
import { Ago } from "../parts";
import { DiffView, type Diff } from "./DiffView";

interface Version {
  version?: string;
  fingerprint?: string;
  installed_at?: string;
  current: boolean;
  origin?: string;
  can_roll_back: boolean;
  reason?: string;
  rolled_back?: boolean;
}

interface Data {
  versions: Version[];
  diff: Diff | null;
  diffError: ApiProblem | null;
}

const events = ["install_added", "install_replaced", "install_removed", "install_rolled_back", "skill_catalog_updated"];

/** Versions shows what is installed, what a rollback brings back, and the difference; to a session that may write, of every skill. */
export function Versions({ skill }: { skill: SkillDetail }) {
  const path = skill.path;
  const { data, error, reload } = useLive<Data>(async (signal) => {
    const { versions } = await get<{ versions: Version[] }>(skillURL(skill.slug, "/versions", { path }), { signal });
    if (versions.length < 2) return { versions, diff: null, diffError: null };
    return get<Diff>(skillURL(skill.slug, "/diff", { path, inspect: canWrite() ? "1" : undefined }), { signal }).then(
      (diff) => ({ versions, diff, diffError: null }),
      (err) => {
        if (!(err instanceof ApiProblem)) throw err;
        return { versions, diff: null, diffError: err };
      },
    );
  }, events);
  if (!data) return error ? <ErrorBox error={error} retry={reload} /> : <Loading label={S.common.loading} rows={3} />;
  return (
    <div class="versions">
      {error && <ErrorBox error={error} retry={reload} />}
      <ol class="rows">
        {data.versions.map((v, i) => (
          <VersionRow key={(v.fingerprint ?? "") + i} skill={skill} v={v} current={data.versions.find((o) => o.current)} reload={reload} />
        ))}
      </ol>
      {data.versions.length < 2 && (
        <Empty title={S.versions.onlyOne}>
          <p>{skill.managed ? S.versions.onlyOneHint : S.versions.byHand}</p>
        </Empty>
      )}
      {data.diffError && <ErrorBox title={S.versions.noDiff} error={data.diffError} />}
      {data.diff && <DiffView diff={data.diff} />}
    </div>
  );
}

function VersionRow({ skill, v, current, reload }: { skill: SkillDetail; v: Version; current?: Version; reload: () => Promise<void> }) {
  const [asking, setAsking] = useState(false);
  const rollBack = async (): Promise<void> => {
    await send("POST", skillURL(skill.slug, "/rollback", { source_kind: skill.source_kind, expected_fingerprint: current?.fingerprint }));
    setAsking(false);
    touch([skill.slug]);
    await reload();
    toast({ kind: "ok", text: S.versions.done(skill.slug, v.version) });
  };
  return (
    <li class="version" data-current={v.current}>
      <div class="line">
        <strong>{v.version ? S.drop.version(v.version) : S.versions.unnamed}</strong>
        {v.current && <Badge tone="ok">{S.versions.current}</Badge>}
        {v.origin === "rolled_back" || v.rolled_back ? <Badge tone="info">{S.versions.rolledBack}</Badge> : null}
        {v.installed_at && (
          <span class="muted">
            <Ago time={v.installed_at} />
          </span>
        )}
        {v.can_roll_back && canWrite() && <Button onClick={() => setAsking(true)}>{S.versions.rollBack}</Button>}
      </div>
      {v.origin && v.origin !== "rolled_back" && <p class="muted break">{S.versions.origin(v.origin)}</p>}
      {v.fingerprint && <code class="muted break">{v.fingerprint}</code>}
      {!v.can_roll_back && !v.current && v.reason && <p class="hint">{v.reason}</p>}
      <Dialog
        title={S.versions.askTitle(skill.slug)}
        open={asking}
        onClose={() => setAsking(false)}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>{S.common.cancel}</Button>
            <Button kind="primary" onClick={rollBack}>
              {S.versions.rollBack}
            </Button>
          </>
        }
      >
        <p>{S.versions.ask(current?.version, v.version)}</p>
        <p class="hint">{S.versions.askHint}</p>
      </Dialog>
    </li>
  );
}
