import { answers, until } from "../../testdom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "preact";
import type { Session, SkillDetail } from "../../api/model";
import { session } from "../../api/session";
import { Tools } from "./Tools";

const s = { slug: "csv", path: "skills/csv", usable: true, policy: { enabled: true }, tools: [] } as unknown as SkillDetail;
const tool = (name: string, more: object) => ({ name: "skill.csv." + name, skill: "csv", kind: "shell", description: "Sums.", parameters: {}, ...more });

async function shown(...tools: object[]): Promise<HTMLElement> {
  answers.set("GET /v1/tools", { tools, excluded_tools: [] });
  session.value = { write: true, scopes: ["write"] } as Session;
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  render(<Tools s={s} />, root);
  await until("the tools are shown", () => root.querySelectorAll("[data-tool]").length === tools.length);
  return root;
}

test("the form of the only tool is open as soon as it can be called", async () => {
  assert.equal((await shown(tool("sum", { callable: true }))).querySelectorAll("form").length, 1);
  assert.equal((await shown(tool("sum", { callable: true }), tool("mean", { callable: true }))).querySelectorAll("form").length, 0);
});

test("a tool without a permission has no form, and no command for what the button does", async () => {
  const why = { code: "runtime.not_allowed", message: "not allowed", hint: 'read its files, then run "pannier tool allow csv"' };
  const root = await shown(tool("sum", { callable: false, why }));
  assert.equal(root.querySelector("form"), null);
  assert.match(root.textContent!, /Allow the tools….*Not allowed/);
  assert.doesNotMatch(root.textContent!, /pannier tool allow/);
});
