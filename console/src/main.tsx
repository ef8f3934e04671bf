import { render } from "preact";
import { start } from "./api/session";
import { App } from "./App";
import { startDrops } from "./drop/index";
import { startStore } from "./store";

startDrops();
startStore();
void start();
render(<App />, document.getElementById("app")!);
