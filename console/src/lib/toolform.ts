// The form of a tool: fields made from the JSON Schema of its parameters, and arguments made from what was typed.

/** Field is one parameter. Those whose type has no field of its own are typed as JSON. */
export interface Field {
  name: string;
  kind: "text" | "lines" | "number" | "flag" | "choice" | "json";
  required: boolean;
  description: string;
  choices: string[];
  initial: string;
}

type Schema = Record<string, unknown>;

const isObject = (v: unknown): v is Schema => typeof v === "object" && v !== null && !Array.isArray(v);
const show = (v: unknown): string => (v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v));

/** fieldsOf returns the fields of a schema, required ones first. */
export function fieldsOf(schema: unknown): Field[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties).map(([name, value]): Field => {
    const p = isObject(value) ? value : {};
    const choices = Array.isArray(p.enum) && p.enum.every((c) => typeof c === "string") ? p.enum : [];
    const type = Array.isArray(p.type) ? p.type.find((t) => t !== "null") : p.type;
    return { name, kind: kindOf(type, choices, p), required: required.includes(name), description: show(p.description), choices, initial: show(p.default) };
  });
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

function kindOf(type: unknown, choices: string[], p: Schema): Field["kind"] {
  if (choices.length > 0) return "choice";
  switch (type) {
    case "string":
      return p.maxLength === undefined || Number(p.maxLength) > 200 ? "lines" : "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "flag";
  }
  return "json";
}

/** BadField names a field whose text is no value of its type. */
export class BadField extends Error {
  constructor(readonly field: string) {
    super(field);
  }
}

/** argumentsOf makes the arguments of a call from the texts of fields. Fields without a text are left out, for the sidecar to judge. */
export function argumentsOf(fields: readonly Field[], texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const out: [string, unknown][] = [];
  for (const f of fields) {
    const text = texts[f.name] ?? f.initial;
    if (text === "") continue;
    out.push([f.name, valueOf(f, text)]);
  }
  return Object.fromEntries(out);
}

function valueOf(f: Field, text: string): unknown {
  if (f.kind === "text" || f.kind === "lines" || f.kind === "choice") return text;
  try {
    const value: unknown = JSON.parse(text);
    if (f.kind !== "number" || typeof value === "number") return value;
  } catch {
    // As below.
  }
  throw new BadField(f.name);
}
