import { useEffect, useState } from "preact/hooks";
import { S } from "../strings";
import { Button } from "../ui/Button";
import type { Part } from "./drops";

/** UploadProgress shows how far an upload is, with pause and resume. */
export function UploadProgress({ part }: { part: Part }) {
  const p = part.progress.value;
  const movable = p.phase === "sending" || p.phase === "paused";
  return (
    <div class="upload" data-phase={p.phase}>
      <progress max={p.total || 1} value={p.sent} aria-label={part.name} />
      <div class="upload-line">
        <span role="status">
          {S.drop.phases[p.phase]} <span class="hint">{S.drop.progress(S.common.bytes(p.sent), S.common.bytes(p.total))}</span>
        </span>
        {movable && (
          <Button class="small" onClick={() => (p.phase === "paused" ? part.upload.resume() : part.upload.pause())}>
            {p.phase === "paused" ? S.drop.resume : S.drop.pause}
          </Button>
        )}
      </div>
      {p.phase === "waiting" && <p class="note">{p.reason === "session" ? S.drop.session : <Countdown until={p.retryAt} reason={p.reason} />}</p>}
      {p.restarted && <p class="note">{S.drop.restarted}</p>}
    </div>
  );
}

function Countdown({ until, reason }: { until: number; reason?: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      {reason && <>{reason} </>}
      {S.drop.retryIn(Math.max(0, Math.ceil((until - now) / 1000)))}
    </>
  );
}
