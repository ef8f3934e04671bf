// A page that shows the console of pannier in a frame: it hands over a token and its colors, and follows what happens in the frame.

const pannier = new URLSearchParams(location.search).get("pannier") ?? "http://127.0.0.1:7443";
const frame = document.querySelector("iframe");
const dark = document.querySelector("#dark");
const events = document.querySelector("#events");

// A page of your own asks its server for the token of its user.
const token = async () => (await (await fetch("token")).text()).trim();

const send = (message) => frame.contentWindow.postMessage(message, pannier);

function sendTheme() {
  document.body.classList.toggle("dark", dark.checked);
  send({ type: "pannier.theme", scheme: dark.checked ? "dark" : "light", colors: { accent: dark.checked ? "#c9a6f0" : "#6b3fa0" } });
}

function show(text) {
  events.append(Object.assign(document.createElement("li"), { textContent: text }));
}

addEventListener("message", async ({ origin, source, data }) => {
  if (origin !== pannier || source !== frame.contentWindow) return;
  switch (data?.type) {
    case "pannier.ready":
      sendTheme();
      send({ type: "pannier.token", token: await token() });
      break;
    case "pannier.height":
      frame.style.height = Math.min(data.height, 800) + "px";
      break;
    case "pannier.installed":
      show(`${data.replaced ? "replaced" : "installed"} ${data.slug} ${data.version ?? ""}`);
      break;
    case "pannier.selected":
      show(`selected ${data.slug}`);
      break;
    case "pannier.error":
      show(`error ${data.code}: ${data.message}`);
      break;
  }
});

dark.addEventListener("change", sendTheme);
frame.src = pannier + "/console/embed/skills";
