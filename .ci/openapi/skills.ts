// Lists skills, reads one, and prints the events of that, over the unix socket and with the types that openapi-typescript makes.
import createClient from "openapi-fetch";
import { Agent } from "undici";

import type { components, paths } from "./schema.js";

type Event = components["schemas"]["Event"];

// Fails to compile where the data of an event is unknown.
type Untyped<E> = E extends Event ? (unknown extends E["data"] ? E["type"] : never) : never;
const untyped: Untyped<Event>[] = [];
untyped satisfies never[];

const dispatcher = new Agent({ connect: { socketPath: process.env.PANNIER_SOCKET } });
const client = createClient<paths>({
  baseUrl: "http://pannier",
  fetch: (request) => fetch(request, { dispatcher } as RequestInit),
  querySerializer: { array: { style: "form", explode: false } },
});

const list = await client.GET("/v1/skills", { params: { query: { include: ["policy", "health"] } } });
if (list.error) throw new Error(`${list.error.code}: ${list.error.detail}`);
for (const skill of list.data.skills) console.log(skill.slug);

await client.GET("/v1/skills/{slug}/content", { params: { path: { slug: list.data.skills[0]!.slug } } });
const missing = await client.GET("/v1/skills/{slug}", { params: { path: { slug: "missing" } } });
console.log(missing.response.status, missing.error?.code);

const events = await client.GET("/v1/events", {
  params: {
    query: { follow: false, types: ["skill_catalog_updated", "skill_loaded"] },
    header: { "Last-Event-ID": 0 },
  },
  parseAs: "text",
});
for (const line of events.data!.split("\n")) {
  if (line.startsWith("data: ")) print(JSON.parse(line.slice("data: ".length)) as Event);
}

function print(event: Event) {
  switch (event.type) {
    case "skill_catalog_updated":
      console.log(event.type, event.data.added.length);
      break;
    case "skill_loaded":
      console.log(event.type, event.data.name, event.data.frontmatter?.["name"]);
      break;
  }
}
