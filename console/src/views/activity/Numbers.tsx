import { get } from "../../api/client";
import type { Stats, StatsMinute } from "../../api/model";
import { S } from "../../strings";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { useLive } from "../live";

type Series = { label: string; value: string; of: (m: StatsMinute) => number; bad?: boolean };

/** Numbers shows the last hour: how often and how fast things happened. */
export function Numbers() {
  const { data, error, reload } = useLive((signal) => get<Stats>("/v1/stats", { signal }), "all");
  if (error && !data) return <ErrorBox error={error} retry={reload} />;
  if (!data) return <Loading label={S.common.loading} />;
  const { minutes, totals: t } = data;
  if (minutes.length === 0) return <Empty title={S.stats.emptyTitle}><p>{S.stats.empty}</p></Empty>;
  const series: Series[] = [
    { label: S.stats.reloads, value: S.stats.count(t.reloads), of: (m) => m.reloads },
    { label: S.stats.latency, value: S.stats.quantiles(t.reload_p50_ms, t.reload_p99_ms), of: (m) => m.reload_p99_ms ?? 0 },
    { label: S.stats.pushes, value: S.stats.count(t.pushes), of: (m) => m.pushes },
    { label: S.stats.pushErrors, value: S.stats.count(t.push_errors), of: (m) => m.push_errors, bad: true },
    { label: S.stats.installs, value: S.stats.count(t.installs), of: (m) => m.installs },
    { label: S.stats.refusals, value: S.stats.count(t.refusals), of: (m) => m.refusals, bad: true },
  ];
  return (
    <>
      <p class="hint">{S.stats.lead}</p>
      {error && <ErrorBox error={error} retry={reload} />}
      <div class="numbers">
        {series.map((s) => (
          <section class="card number" key={s.label}>
            <h2>{s.label}</h2>
            <p class={s.bad && s.value !== "0" ? "big bad" : "big"}>{s.value}</p>
            <Bars values={minutes.map(s.of)} label={s.label} bad={s.bad} />
          </section>
        ))}
      </div>
    </>
  );
}

/** Bars draws one bar for each minute. The numbers stand in text beside it, so it is hidden from screen readers. */
function Bars({ values, label, bad }: { values: number[]; label: string; bad?: boolean }) {
  const highest = Math.max(1, ...values);
  return (
    <svg class={bad ? "bars bad" : "bars"} viewBox="0 0 60 20" preserveAspectRatio="none" aria-hidden="true" data-label={label}>
      {values.slice(-60).map((v, i, shown) => {
        const height = v === 0 ? 0 : Math.max(1, (v / highest) * 20);
        return <rect key={i} x={60 - shown.length + i + 0.1} y={20 - height} width={0.8} height={height} />;
      })}
    </svg>
  );
}
