import { answers, button, requests, until } from "../../../testdom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "preact";
import type { SkillDetail } from "../../../api/model";
import { Allow } from "./Allow";

const s = { slug: "csv", path: "skills/csv", source_kind: "workspace", policy: { enabled: true } } as unknown as SkillDetail;
const permission = {
  slug: "csv", fingerprint: "sha256:1", files: 2, bytes: 10, network: false, hosts: [], env: ["HOME"], project_dirs: [], excluded_tools: [],
  tools: [{ name: "skill.csv.sum", kind: "shell", command: ["sh", "sum.sh"] }],
};

test("a permission is shown before it is given, after a scan if there was none, and given for the files that were shown", async () => {
  answers.set("GET /v1/tools/permissions/csv", permission);
  answers.set("POST /v1/skills/csv/scan", { decision: "allow", findings: [] });
  answers.set("PUT /v1/policy/csv?source_kind=workspace", {});
  let read = 0;
  const root = document.body.appendChild(document.createElement("div"));
  render(<Allow s={s} missing reload={async () => void read++} />, root);
  button("Allow the tools…").click();
  await until("the dialog shows what is covered", () => document.body.textContent!.includes("sh sum.sh"));
  assert.deepEqual(requests.map(([r]) => r), ["GET /v1/tools/permissions/csv", "POST /v1/skills/csv/scan", "GET /v1/tools/permissions/csv"]);
  for (const text of ["2 files", "No network.", "Environment variables: HOME."]) assert.ok(document.body.textContent!.includes(text), text);
  button("Allow").click();
  await until("the permission is given", () => read === 1);
  assert.deepEqual(requests.at(-1), ["PUT /v1/policy/csv?source_kind=workspace", '{"tools_allowed":"sha256:1"}']);
});

test("files that cannot be allowed have no button for it", async () => {
  answers.set("GET /v1/tools/permissions/csv", { ...permission, scan: { findings: [] }, refused: { code: "runtime.unscanned", message: "a scan blocks these files" } });
  const root = document.body.appendChild(document.createElement("div"));
  document.body.replaceChildren(root);
  render(<Allow s={s} missing reload={async () => {}} />, root);
  button("Allow the tools…").click();
  await until("the reason is shown", () => document.body.textContent!.includes("A scan blocks these files"));
  assert.equal(button("Allow").disabled, true);
});
