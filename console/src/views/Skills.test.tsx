import { answers, button, requests, until } from "../testdom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "preact";
import type { Session, Skill } from "../api/model";
import { session } from "../api/session";
import { loaded, skills } from "../store";
import { Skills } from "./Skills";

const skill = (slug: string, more: Partial<Skill> = {}): Skill => ({
  slug, id: slug, path: "skills/" + slug, root: "skills", source_kind: "workspace", name: slug, description: "Counts " + slug, user_invocable: true,
  disable_model_invocation: false, last_good: false, state: "eligible", usable: true, reasons: [],
  policy: { enabled: true, allow_implicit_invocation: true, source: "start", implicit_source: "gateway" } as Skill["policy"], ...more,
});
const row = (slug: string) => document.querySelector<HTMLElement>(`.skill-row[data-slug=${slug}]`);

test("rows answer whether the agent uses a skill; only those who may write have switches and a selection", async () => {
  const all = [skill("alpha"), skill("beta", { usable: false, state: "ineligible", reasons: [{ code: "missing_binary", subject: "jq", remedy: "install jq" }] as Skill["reasons"] })];
  skills.value = new Map(all.map((s) => [s.path, s]));
  loaded.value = true;
  session.value = { write: true, scopes: ["write"] } as Session;
  answers.set("PUT /v1/policy/alpha?source_kind=workspace", {});
  answers.set("PUT /v1/policy/beta?source_kind=workspace", {});
  const root = document.createElement("div");
  root.className = "scroll";
  document.body.replaceChildren(root);
  render(<Skills />, root);
  await until("the rows are shown", () => row("alpha") && row("beta"));
  assert.match(row("alpha")!.textContent!, /Offered.*Counts alpha/);
  assert.match(row("beta")!.textContent!, /Not usable.*Missing program: jq.*Install jq/);

  row("alpha")!.querySelector<HTMLElement>("[role=switch][aria-label*='offered']")!.click();
  await until("the switch is sent", () => requests.some(([r]) => r === "PUT /v1/policy/alpha?source_kind=workspace"));
  assert.equal(requests.find(([r]) => r.startsWith("PUT"))![1], '{"allow_implicit_invocation":false}');

  document.querySelector<HTMLElement>(".columns-row input")!.click();
  await until("the bar for many is shown", () => document.body.textContent!.includes("2 selected"));
  requests.length = 0;
  button("Switch off").click();
  await until("both are sent", () => requests.filter(([r]) => r.startsWith("PUT")).length === 2);

  session.value = { write: false, scopes: ["read"] } as unknown as Session;
  render(<Skills />, root);
  await until("nothing can be selected", () => !document.querySelector(".skill-row input, .columns-row input"));
  assert.equal(row("alpha")!.querySelector<HTMLButtonElement>("[role=switch]")!.disabled, true);
});

test("a skill that has to be named by itself has a switch that is off, and nothing to click", async () => {
  const s = skill("gamma", { disable_model_invocation: true });
  skills.value = new Map([[s.path, s]]);
  session.value = { write: true, scopes: ["write"] } as Session;
  const root = document.createElement("div");
  root.className = "scroll";
  document.body.replaceChildren(root);
  render(<Skills />, root);
  await until("the row is shown", () => row("gamma"));
  const offered = row("gamma")!.querySelector<HTMLButtonElement>("[role=switch][aria-label*='offered']")!;
  assert.deepEqual([offered.getAttribute("aria-checked"), offered.disabled], ["false", true]);
  assert.match(row("gamma")!.textContent!, /By name only.*Remove disable-model-invocation/);
});
