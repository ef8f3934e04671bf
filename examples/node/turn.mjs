// Prints what an agent needs for one turn: the prompt for a text, and the instructions and files of the skills it names.
//
//     node turn.mjs '/skill:pdf-forms fill in form.pdf'

import { Pannier, PannierError } from "./pannier.mjs";

async function main(text) {
  const pannier = new Pannier();
  const turn = await pannier.resolve(text);
  console.log(turn.prompt.text);
  for (const skill of turn.active) {
    if (skill.reason === "implicit") continue; // offered to the model, not named by the turn
    const content = await pannier.content(skill.slug);
    console.log(`--- ${skill.slug} in ${content.directory}, for '${skill.arguments ?? ""}'`);
    console.log(content.body);
    for (const path of content.resources) {
      console.log(`--- ${path}: ${(await pannier.file(skill.slug, path)).length} bytes`);
    }
  }
  for (const { slug, detail } of turn.rejected) console.error(`--- ${slug} is not active: ${detail}`);
}

process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0); // the reader, such as head, wants no more
});

main(process.argv.slice(2).join(" ")).catch((error) => {
  if (!(error instanceof PannierError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
});
