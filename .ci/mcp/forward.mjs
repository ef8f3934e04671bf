// Forwards HTTP requests from a loopback port to a sidecar, for clients that cannot do it themselves:
//
//   node forward.mjs socket PATH        to a unix socket
//   node forward.mjs tcp PORT TOKENFILE to a port of the loopback, with the token of a file
//
// It prints its address. Headers pass as they are, so that the sidecar judges them.
import { readFileSync } from "node:fs";
import http from "node:http";

const [kind, target, tokenFile] = process.argv.slice(2);
const to = kind === "socket" ? { socketPath: target } : { host: "127.0.0.1", port: target };
const authorization = tokenFile ? ["Authorization", "Bearer " + readFileSync(tokenFile, "utf8").trim()] : [];

const server = http.createServer((request, response) => {
  const headers = [...request.rawHeaders, ...authorization];
  const upstream = http.request({ ...to, method: request.method, path: request.url, headers, setHost: false }, (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    response.flushHeaders();
    answer.pipe(response);
  });
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
});
server.requestTimeout = 0;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
