import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentsOf, BadField, fieldsOf } from "./toolform";

const schema = {
  type: "object",
  required: ["file"],
  properties: {
    days: { type: "integer", default: 7 },
    file: { type: "string", description: "A CSV file." },
    kind: { type: "string", enum: ["sum", "mean"] },
    all: { type: ["boolean", "null"] },
    argv: { type: "array", items: { type: "string" } },
  },
};

test("each parameter has a field of its type, required ones first", () => {
  assert.deepEqual(fieldsOf(schema).map((f) => `${f.name} ${f.kind}${f.required ? "!" : ""} ${f.initial}`.trim()), ["file lines!", "days number 7", "kind choice", "all flag", "argv json"]);
  for (const none of [undefined, null, {}, { properties: [] }, "x"]) assert.deepEqual(fieldsOf(none), []);
});

test("arguments have the types of the schema, and no empty ones", () => {
  const fields = fieldsOf(schema);
  assert.deepEqual(argumentsOf(fields, { file: "7", all: "true", argv: '["-x"]', kind: "" }), { file: "7", days: 7, all: true, argv: ["-x"] });
  assert.deepEqual(argumentsOf(fields, { days: "" }), {});
  for (const bad of [{ days: "many" }, { days: '"7"' }, { argv: "[" }] as Record<string, string>[]) assert.throws(() => argumentsOf(fields, bad), BadField);
});
