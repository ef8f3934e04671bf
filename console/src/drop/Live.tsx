import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asProblem, get } from "../api/client";
import type { Health } from "../api/model";
import { onEvent } from "../api/events";
import { canWrite } from "../api/session";
import { navigate } from "../router";
import { skills } from "../store";
import { changePolicy } from "../api/policy";
import { pushStateOf } from "../lib/pushstate";
import { reasonText } from "../lib/reason";
import { S } from "../strings";
import { Button } from "../ui/Button";
import { CheckIcon, WarnIcon } from "../ui/icons";
import { closeDropPanel } from "./panel_state";

/** PlatformState is what GET /v1/card/status says of one platform, as far as it is used here. */
interface PlatformState {
  platform: string;
  wanted: unknown;
  has: unknown;
  pushes: { outcome: string; error?: string }[];
}

/** platforms are those that get the card; null until they are read. */
const platforms = signal<readonly PlatformState[] | null>(null);
let following: (() => void) | undefined;
let readAgain = (): void => undefined;

/** A push is acknowledged a moment after its event: what still waits is looked at again. */
const lookAgainMs = 2000;

/** followCard reads the state of the card now and after each event about it. One reader serves all rows. */
function followCard(): void {
  if (following) return;
  let reading = false;
  let again = false;
  const read = async (): Promise<void> => {
    if (reading) return void (again = true);
    reading = true;
    do {
      again = false;
      platforms.value = await readPlatforms().catch(() => platforms.peek());
    } while (again);
    reading = false;
  };
  readAgain = () => void read();
  following = onEvent((e) => {
    if (["card_pushed", "card_rejected", "skill_catalog_updated", "policy_changed"].includes(e.type)) void read();
  });
  void read();
}

/** readPlatforms reads what the platforms have. An older sidecar only tells whether they are up to date. */
async function readPlatforms(): Promise<readonly PlatformState[]> {
  try {
    return (await get<{ platforms: PlatformState[] }>("/v1/card/status")).platforms;
  } catch (err) {
    if (asProblem(err).status !== 404) throw err;
  }
  const wanted = await get<unknown>("/v1/card").catch(() => null);
  const { push, conditions } = await get<Health>("/v1/health");
  return push.map((p) => ({ platform: p.platform, wanted, has: pushStateOf(p, conditions) === "in_step" ? wanted : null, pushes: [{ outcome: "", error: p.last_error }] }));
}

interface CardSkill {
  id?: string;
  name?: string;
}

const listed = (card: unknown, id: string): boolean => ((card as { skills?: CardSkill[] } | null)?.skills ?? []).some((s) => s.id === id);

type Step = "done" | "waiting" | "failed" | "none";

/** cardStep says how far a skill is on its way to the platforms. */
export function cardStep(all: readonly PlatformState[] | null, id: string | undefined): { step: Step; error?: string } {
  if (!all || !id) return { step: "waiting" };
  if (all.length === 0) return { step: "none" };
  if (all.every((p) => listed(p.has, id))) return { step: "done" };
  const refused = all.find((p) => !listed(p.has, id) && p.pushes[0]?.error);
  return refused ? { step: "failed", error: refused.pushes[0]!.error } : { step: "waiting" };
}

/** LiveSteps shows the way of an installed skill: installed, usable, on the card. */
export function LiveSteps({ slug, path }: { slug: string; path: string }) {
  followCard();
  const skill = skills.value.get(path);
  const usable = skill?.usable ?? false;
  const card = cardStep(platforms.value, usable ? skill?.id : undefined);
  const waits = usable && card.step === "waiting";
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => readAgain(), lookAgainMs);
    return () => clearInterval(timer);
  }, [waits]);
  return (
    <>
      <ol class="live-steps">
        <StepItem step="done" text={S.drop.live.installed} />
        <StepItem step={usable ? "done" : skill ? "failed" : "waiting"} text={!skill || usable ? S.drop.live.usable : S.drop.live.notUsable} />
        <StepItem step={usable ? card.step : "waiting"} text={S.drop.live.card} />
      </ol>
      <Button kind="quiet" class="small" onClick={() => (closeDropPanel(), navigate("skills", slug, { path }))}>
        {S.drop.live.open}
      </Button>
      {card.error && <p class="hint">{S.drop.live.failed + ": " + card.error}</p>}
      {skill && !usable && (
        <ul class="reasons">
          {(skill.reasons ?? []).map((r) => (
            <li key={r.code + r.subject}>
              {reasonText(r)} {r.remedy && <span class="hint">{r.remedy}</span>}
            </li>
          ))}
        </ul>
      )}
      {skill && usable && !skill.policy?.allow_implicit_invocation && <p class="hint">{S.drop.live.explicit}</p>}
      {skill && usable && !skill.policy?.allow_implicit_invocation && canWrite() && (
        <Button class="small" onClick={() => changePolicy(skill, { allow_implicit_invocation: true })}>
          {S.drop.live.allowImplicit}
        </Button>
      )}
    </>
  );
}

function StepItem({ step, text }: { step: Step; text: string }) {
  if (step === "none") return <li data-step="none">{S.drop.live.noPlatform}</li>;
  return (
    <li data-step={step}>
      {step === "done" ? <CheckIcon /> : step === "failed" ? <WarnIcon /> : <i class="wait" aria-hidden="true" />}
      {text}
      {step === "waiting" && <span class="hint"> {S.drop.live.waiting}</span>}
    </li>
  );
}
