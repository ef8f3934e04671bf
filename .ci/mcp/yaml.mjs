// Reads a JSON array of YAML texts from standard input and writes an array of what the package yaml makes of each: the
// text of JSON.stringify, or null for an error.
import { parse } from "yaml";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const results = JSON.parse(input).map((text) => {
  try {
    return JSON.stringify(parse(text, { logLevel: "error" }));
  } catch {
    return null;
  }
});
process.stdout.write(JSON.stringify(results));
