// Prints the skills section of the system prompt, and prints it anew whenever the catalog has changed.

import { Pannier } from "./pannier.mjs";

const note = (text) => console.error(`# ${text}`);

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));

const pannier = new Pannier();
let shown;
for await (const event of pannier.events()) {
  if (event.type === "disconnected") {
    note(`the sidecar is lost, trying again: ${event.error.message}`);
  }
  if (event.type === "skill_catalog_updated") {
    const { added, changed, removed } = event.data;
    note(event.gap ? "the whole catalog" : "the catalog has changed");
    note(`added [${added}], changed [${changed}], removed [${removed}]`);
  }
  if (event.type !== "connected" && event.type !== "skill_catalog_updated") continue;
  try {
    const prompt = await pannier.prompt();
    if (event.type === "skill_catalog_updated" || prompt !== shown) {
      console.log(prompt); // your agent: put it into the system prompt of the next turn
      shown = prompt;
    }
  } catch (error) {
    note(error.message); // an event comes once it is there
  }
}
