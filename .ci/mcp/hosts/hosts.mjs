// The hosts that are measured: the files that connect each with a server and a model, and the command that gives it one task. Each gets
// a home of its own, so that nothing of the machine counts.
export const prompt = "Begin with the first task.";
const json = (value) => JSON.stringify(value, null, 2);

// codex and qwen are hosts that a setting makes show more.
const codex = (name, more) => ({
  name,
  package: "@openai/codex",
  files: (server, url) => ({
    ".codex/config.toml": `model = "stub"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
[mcp_servers.pannier]
command = ${JSON.stringify(server[0])}
args = ${JSON.stringify(server.slice(1))}
${more}`,
  }),
  command: ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
  env: () => ({ STUB_KEY: "none" }),
});

const qwen = (name, more) => ({
  name,
  package: "@qwen-code/qwen-code",
  files: (server) => ({
    ".qwen/settings.json": json({
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { pannier: { command: server[0], args: server.slice(1), ...more } },
    }),
  }),
  command: ["qwen", "--auth-type", "openai", "--yolo", prompt],
  env: (url) => ({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "stub" }),
});

export const hosts = [
  codex("Codex", ""),
  codex("Codex, mcp_tool_list_changed", "[features]\nmcp_tool_list_changed = true\n"),
  {
    name: "opencode",
    package: "opencode-ai",
    files: (server, url) => ({
      "project/opencode.json": json({
        autoupdate: false,
        share: "disabled",
        model: "stub/stub",
        small_model: "stub/stub",
        provider: { stub: { npm: "@ai-sdk/openai-compatible", name: "stub", options: { baseURL: `${url}/v1`, apiKey: "none" }, models: { stub: { name: "stub" } } } },
        mcp: { pannier: { type: "local", command: server, enabled: true } },
      }),
    }),
    command: ["opencode", "run", "--auto", "--pure", prompt],
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1", npm_config_offline: "true", npm_config_registry: "http://127.0.0.1:9/" }),
  },
  {
    name: "Gemini CLI",
    package: "@google/gemini-cli",
    files: (server) => ({
      ".gemini/settings.json": json({
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
        mcpServers: { pannier: { command: server[0], args: server.slice(1) } },
      }),
    }),
    command: ["gemini", "--skip-trust", "--yolo", "--model", "gemini-2.5-flash", "--prompt", prompt],
    env: (url) => ({ GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url }),
  },
  {
    name: "Cline",
    package: "cline",
    files: (server, url) => ({
      ".cline/data/settings/cline_mcp_settings.json": json({ mcpServers: { pannier: { command: server[0], args: server.slice(1) } } }),
      ".cline/data/settings/providers.json": json({
        version: 1,
        lastUsedProvider: "openai-compatible",
        modes: {},
        providers: { "openai-compatible": { settings: { provider: "openai-compatible", apiKey: "none", model: "stub", baseUrl: `${url}/v1` }, updatedAt: "2026-01-01T00:00:00.000Z", tokenSource: "manual" } },
      }),
    }),
    command: ["cline", "--json", "--timeout", "60", prompt],
  },
  qwen("Qwen Code", { alwaysLoadTools: true }),
  qwen("Qwen Code, no alwaysLoadTools", {}),
];
