// The form of "Try a turn": texts that a person types, and the turn that they mean.

export interface TurnForm {
  text: string;
  paths: string; // one a line
  projectDir: string;
  tools: string; // separated by commas or lines
  noTools: boolean; // the agent has no tools, which is something else than unknown
  capabilities: string; // slugs, separated by commas, blanks or lines
  runtime: string;
}

export interface TurnBody {
  text?: string;
  paths?: string[];
  project_dir?: string;
  tools?: string[];
  capabilities?: { id: string; slug: string }[];
  runtime?: string;
  format?: string;
}

export const emptyForm: TurnForm = { text: "", paths: "", projectDir: "", tools: "", noTools: false, capabilities: "", runtime: "" };

/** Splits at commas outside of parentheses and at line ends: `Bash(git add:*, x), Read` has two tools. */
export function splitTools(text: string): string[] {
  const tools: string[] = [];
  let depth = 0;
  let tool = "";
  for (const c of text) {
    if (c === "\n" || (c === "," && depth === 0)) {
      tools.push(tool);
      tool = "";
      depth = 0;
      continue;
    }
    if (c === "(") depth++;
    if (c === ")" && depth > 0) depth--;
    tool += c;
  }
  return unique([...tools, tool]);
}

const unique = (texts: string[]) => [...new Set(texts.map((t) => t.trim()).filter((t) => t !== ""))];

export function turnOf(form: TurnForm, format?: string): TurnBody {
  const body: TurnBody = {};
  if (form.text.trim() !== "") body.text = form.text;
  const paths = unique(form.paths.split("\n"));
  if (paths.length > 0) body.paths = paths;
  if (form.projectDir.trim() !== "") body.project_dir = form.projectDir.trim();
  const tools = splitTools(form.tools);
  if (form.noTools) body.tools = [];
  else if (tools.length > 0) body.tools = tools;
  const slugs = unique(form.capabilities.split(/[\s,]+/));
  if (slugs.length > 0) body.capabilities = slugs.map((slug) => ({ id: slug, slug }));
  if (form.runtime.trim() !== "") body.runtime = form.runtime.trim();
  if (format) body.format = format;
  return body;
}

/** Says whether the answer to a turn can differ from that without a turn. */
export function isEmpty(form: TurnForm): boolean {
  return Object.keys(turnOf(form)).length === 0;
}
