// Handles one turn with tools of skills: resolves it, offers its tools to a model, calls the one that the model chooses.
//
//     node tools.mjs '/skill:repo-review is this ready?'
//     node tools.mjs '/skill:greet {"name": "Ann"}'
//
// There is no model in here. `stubModel` stands for one, so that this runs without network and without a key: it always
// chooses the first tool, one of the named skill if it has any, and repeats what the tool answered. Its arguments are the
// JSON object after the name of the skill, else none. Replace it with your model.

import { Pannier, PannierError } from "./pannier.mjs";

// The tools of this agent itself, which skills can name as `target_tool` of a function_proxy.
const ownTools = { echo: (args) => JSON.stringify(args) };

/** Stands for a model: no answer yet means call the first tool; an answer means tell it to the user. */
function stubModel(text, tools, answer) {
  if (answer === undefined && tools.length > 0) {
    let args = {};
    try {
      args = JSON.parse(text.slice(text.indexOf("{")));
    } catch {
      // the text has no arguments
    }
    return { tool: tools[0].name, arguments: args };
  }
  return { text: answer === undefined ? "there is no tool for this turn" : `the tool answered: ${answer}` };
}

/** What a model is told of a call, also of one that was refused or failed: it can choose another way. */
async function call(pannier, name, args) {
  let result;
  try {
    result = await pannier.callTool(name, args);
  } catch (error) {
    if (!(error instanceof PannierError) || error.status === 0) throw error; // nothing that a model can act on
    return `refused: ${error.message}`;
  }
  if (result.proxy) {
    const { tool, arguments: handed } = result.proxy;
    return Object.hasOwn(ownTools, tool) ? ownTools[tool](handed) : `this agent has no tool '${tool}'`;
  }
  if (!result.ok) return `failed: ${result.error.message} (${result.error.code}); hint: ${result.error.hint ?? ''}\n${result.output}`;
  return result.output;
}

async function main(text) {
  const pannier = new Pannier();
  const turn = await pannier.resolve(text);
  const active = turn.active.map(({ slug }) => slug); // the named ones first
  const tools = (await pannier.tools())
    .filter(({ skill, callable }) => callable && active.includes(skill))
    .sort((a, b) => active.indexOf(a.skill) - active.indexOf(b.skill))
    .map(({ model_name, description, parameters }) => ({ name: model_name, description, parameters }));
  console.error("# a stub model chooses, not a real one");
  for (const { name } of tools) console.error(`# offered: ${name}`);
  let said = stubModel(text, tools);
  if (said.tool) {
    console.error(`# called: ${said.tool}`);
    said = stubModel(text, tools, await call(pannier, said.tool, said.arguments));
  }
  console.log(said.text);
}

main(process.argv.slice(2).join(" ")).catch((error) => {
  if (!(error instanceof PannierError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
});
