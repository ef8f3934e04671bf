// The shared worker of all tabs of one origin. A browser without shared workers loads it into each tab.

export { createParser } from "eventsource-parser";
import { Hub, type Request } from "../lib/hub";

export const hub = new Hub("/v1/events");

globalThis.addEventListener("connect", (e) => {
  const port = (e as MessageEvent).ports[0]!;
  port.addEventListener("message", (m: MessageEvent<Request>) => hub.receive(port, m.data));
  // Browsers that know this event tell of tabs that have crashed.
  port.addEventListener("close", () => hub.receive(port, { type: "bye" }));
  port.start();
});
