// A model that does what it is told: an HTTP server on loopback with the wire of the OpenAI APIs (responses and chat completions) and of
// the Gemini API. It gives each request to a function as {tools, system, results}, and sends the answer of that: a text, or the call of a
// tool as {name, arguments}.
import http from "node:http";

const textOf = (content) => {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => textOf(part.text ?? part.content ?? "")).join("\n");
  return "";
};

// Each wire reads a request, and writes an answer as the events of a stream and as one document.
const chat = {
  read: ({ messages = [], tools = [] }) => ({
    tools: tools.map(({ function: f }) => ({ name: f.name, description: f.description ?? "", schema: f.parameters })),
    system: messages.filter((m) => m.role !== "tool" && m.role !== "assistant").map((m) => textOf(m.content)).join("\n"),
    results: messages.filter((m) => m.role === "tool").map((m) => textOf(m.content)),
  }),
  write: (answer, { model }) => {
    const message = answer.name
      ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${Date.now()}`, type: "function", function: { name: answer.name, arguments: JSON.stringify(answer.arguments) } }] }
      : { role: "assistant", content: answer };
    const finish_reason = answer.name ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const common = { id: "chat", created: 1, model };
    return {
      document: { ...common, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage },
      events: [
        ["", { ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta: message, finish_reason: null }] }],
        ["", { ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason }], usage }],
        ["", "[DONE]"],
      ],
    };
  },
};

const responses = {
  read: ({ instructions = "", input = [], tools = [] }) => {
    const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
    const flat = tools.flatMap((tool) => (tool.type === "namespace" ? tool.tools.map((t) => ({ ...t, namespace: tool.name, about: tool.description })) : [tool]));
    return {
      tools: flat
        .filter((tool) => tool.name)
        .map((tool) => ({ name: tool.name, namespace: tool.namespace, description: [tool.about, tool.description].filter(Boolean).join("\n"), schema: tool.parameters })),
      system: [instructions, ...items.filter((i) => i.role && i.role !== "assistant").map((i) => textOf(i.content))].join("\n"),
      results: items.filter((i) => i.type?.endsWith("_output")).map((i) => textOf(i.output)),
    };
  },
  write: (answer) => {
    const item = answer.name
      ? { type: "function_call", id: "fc", call_id: `call_${Date.now()}`, name: answer.name, ...(answer.namespace && { namespace: answer.namespace }), arguments: JSON.stringify(answer.arguments), status: "completed" }
      : { type: "message", id: "msg", role: "assistant", status: "completed", content: [{ type: "output_text", text: answer, annotations: [] }] };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
    const document = { id: "resp", object: "response", created_at: 1, model: "stub", status: "completed", output: [item], usage };
    return {
      document,
      events: [
        ["response.created", { type: "response.created", response: { ...document, status: "in_progress", output: [], usage: null } }],
        ["response.output_item.added", { type: "response.output_item.added", output_index: 0, item }],
        ["response.output_item.done", { type: "response.output_item.done", output_index: 0, item }],
        ["response.completed", { type: "response.completed", response: document }],
      ],
    };
  },
};

const gemini = {
  read: ({ systemInstruction, contents = [], tools = [] }) => {
    const parts = contents.flatMap((c) => c.parts ?? []);
    return {
      tools: tools
        .flatMap((t) => t.functionDeclarations ?? [])
        .map((f) => ({ name: f.name, description: f.description ?? "", schema: f.parametersJsonSchema ?? f.parameters })),
      system: [...(systemInstruction?.parts ?? []), ...parts].map((p) => p.text ?? "").join("\n"),
      results: parts.filter((p) => p.functionResponse).map((p) => JSON.stringify(p.functionResponse.response)),
    };
  },
  write: (answer) => {
    const part = answer.name ? { functionCall: { name: answer.name, args: answer.arguments } } : { text: answer };
    const document = {
      candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    return { document, events: [["", document]] };
  },
};

function wireOf(url) {
  if (url.includes("/responses")) return responses;
  if (url.includes("/chat/completions")) return chat;
  if (/:(stream)?[gG]enerateContent/.test(url)) return gemini;
}

// serve starts a model and returns its port. decide answers requests one after the other.
export async function serve(decide) {
  let last = Promise.resolve();
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const wire = wireOf(request.url);
    if (!wire) {
      const list = { object: "list", data: [{ id: "stub", object: "model" }], totalTokens: 1 };
      return response.writeHead(request.url.endsWith("/models") || request.url.includes(":countTokens") ? 200 : 404, { "Content-Type": "application/json" }).end(JSON.stringify(list));
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    last = last.catch(() => {}).then(() => decide(wire.read(body), body));
    const { document, events } = wire.write(await last, body);
    if (!body.stream && !request.url.includes("stream")) return response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(document));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const [event, data] of events) response.write(`${event && `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, close: () => (server.closeAllConnections(), server.close()) };
}
