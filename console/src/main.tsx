import { render } from "preact";
import { startEmbed } from "./api/embed";
import { start } from "./api/session";
import { App } from "./App";
import { startDrops } from "./drop/index";
import { startStore } from "./store";

startDrops();
startStore();
startEmbed();
void start();
render(<App />, document.getElementById("app")!);
