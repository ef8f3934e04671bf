package api

import (
	"encoding/json"

	"pannier"
)

// operations tell of every route. A test holds them against the routes, in both directions, and every answer against its
// schema.
var operations = map[string]operation{
	"GET /v1/skills": {
		id: "listSkills", summary: "Every skill that was found, usable or not, by slug.", answer: pannier.List{},
		parameters: []parameter{
			{"state", "query", "Only the skills in this state.", pannier.State("")},
			queryList("include", object{"type": "string", "enum": []string{"activity", "problems", "policy", "health"}}, "What to add to each skill. With activity, the ETag changes with each use of a skill."),
		},
	},
	"GET /v1/skills/{slug}": {
		id: "getSkill", summary: "All that is known of one skill.", answer: pannier.Detail{},
		parameters: []parameter{
			query("path", "string", "The path of the skill directory that is meant; it reaches a skill that is shadowed."),
			{"include", "query", "Adds when the skill was last used. The ETag then changes with each use.", object{"type": "string", "enum": []string{"activity"}}},
		},
	},
	"GET /v1/skills/{slug}/content": {
		id: "getContent", summary: "What an agent needs to follow a skill. Emits skill_loaded.", answer: pannier.Content{}, texts: []string{"text/markdown"},
		parameters: []parameter{query("expand", "boolean", "Puts the skill directory, as the agent sees it, in the place of ${skill_dir} and {baseDir}.")},
	},
	filePattern: {
		id: "getFile", summary: "One file of a skill, byte for byte; its ETag is its digest. Emits skill_file_read.",
		texts: []string{"text/plain", "application/octet-stream"},
	},
	installPattern: {
		id: "installSkill", summary: "Installs the skill of an archive. The answer comes once a snapshot shows it. Emits install_added.", answer: pannier.InstallResult{},
		raw: []string{"application/gzip", "application/zip", "application/octet-stream"}, parameters: archiveParameters,
	},
	updatePattern: {
		id: "updateSkill", summary: "Replaces an installed skill by the one of an archive. Emits install_replaced.", answer: pannier.InstallResult{},
		raw:        []string{"application/gzip", "application/zip", "application/octet-stream"},
		parameters: append([]parameter{expectedParameter}, archiveParameters...),
	},
	"DELETE /v1/skills/{slug}": {
		id: "uninstallSkill", summary: "Removes an installed skill, and what clients have set of it. Emits install_removed.", answer: pannier.InstallResult{},
		parameters: removalParameters,
	},
	"POST /v1/skills/{slug}/rollback": {
		id: "rollBackSkill", summary: "Brings back the version of a skill that was there before the newest. Emits install_rolled_back.", answer: pannier.InstallResult{},
		parameters: removalParameters,
	},
	"POST /v1/promotions": {
		id: "promote", summary: "Records a packet that asks for a workflow to become a skill. Emits skill_promotion.", body: promotionBody{}, answer: pannier.SkillPromotion{},
	},
	"POST /v1/skills/{slug}/scan": {
		id: "scanSkill", summary: "Scans a skill as it is now.", answer: pannier.ScanReport{},
		parameters: append([]parameter{query("path", "string", "The path of the skill directory that is meant.")}, acceptParameters...),
	},
	"GET /v1/card":                     {id: "getCard", summary: "The agent card, byte for byte as it is pushed.", answer: map[string]json.RawMessage{}},
	"GET /.well-known/agent-card.json": {id: "getWellKnownCard", summary: "The agent card, where agents look for one.", answer: map[string]json.RawMessage{}},
	"GET /v1/prompt": {
		id: "getPrompt", summary: "The skills section of the system prompt for what is automatically available.", answer: pannier.Prompt{}, texts: []string{"text/plain"},
		parameters: []parameter{
			query("format", "string", "The format of the section."),
			query("max_chars", "integer", "The most characters that it may have; 0 is no limit."),
		},
	},
	"POST /v1/prompt": {
		id: "promptTurn", summary: "The skills section of the system prompt for a turn. Emits turn_resolved.", body: pannier.Turn{}, answer: pannier.Prompt{}, texts: []string{"text/plain"},
	},
	"POST /v1/resolve": {
		id: "resolveTurn", summary: "Which skills are active in a turn, and their prompt. Emits turn_resolved.", body: pannier.Turn{}, answer: pannier.Resolution{},
		parameters: []parameter{query("verbose", "boolean", "Tells of every skill that is not active, named or not.")},
	},
	"GET /v1/commands": {id: "listCommands", summary: "What can be given to the agent by name, by slug.", answer: pannier.CommandList{}},
	"POST /v1/commands/{name}": {
		id: "runCommand", summary: "What an agent needs to follow a command. Emits skill_loaded and skill_invoked.",
		body: pannier.CommandCall{}, optional: true, answer: pannier.CommandRun{},
	},
	"POST /v1/rescan": {
		id: "rescan", summary: "Looks at everything again.", answer: rescanned{},
		parameters: []parameter{query("wait", "boolean", "Answers once a look that began after the call is served.")},
	},
	"GET /v1/environment": {id: "getEnvironment", summary: "What skills are judged by: names, never values.", answer: pannier.Environment{}},
	"PUT /v1/environment": {id: "putEnvironment", summary: "Takes in what the agent's container offers.", body: environmentBody{}, answer: pannier.Environment{}},
	"GET /v1/policy":      {id: "listPolicies", summary: "The policy of every skill.", answer: pannier.PolicyList{}},
	"PUT /v1/policy/{slug}": {
		id: "setPolicy", summary: "Changes the workspace layer of a skill's policy: a switch that is left out keeps its value, null takes it back.",
		body: pannier.PolicyChange{}, answer: pannier.Policy{},
		parameters: []parameter{query("source_kind", "string", "The kind of root; without it that of the skill is meant.")},
	},
	"GET /v1/audit": {
		id: "listAudit", summary: "The newest entries of the audit log, newest first.", answer: pannier.AuditList{},
		parameters: []parameter{
			query("slug", "string", "Only entries about this skill."),
			{"limit", "query", "The most entries.", object{"type": "integer", "minimum": 1, "maximum": maxAudit, "default": usualAudit}},
		},
	},
	"GET /v1/events": {
		id: "followEvents", summary: "The events as server-sent events; the data of each is an Event of the components.", texts: []string{"text/event-stream"}, untagged: true,
		parameters: []parameter{
			queryList("types", pannier.EventType(""), "Only events of these types."),
			query("follow", "boolean", "With 0 the stream ends with the newest event there is."),
			{"Last-Event-ID", "header", "The number of the event to begin behind.", uint64(0)},
		},
	},
	"GET /v1/rpc": {
		id: "openRPC", summary: "Makes a WebSocket (RFC 6455) that carries JSON-RPC 2.0.", untagged: true,
		others: map[string]string{"101": "The connection is a WebSocket from here on."},
	},
	"POST /v1/rpc": {
		id: "callRPC", summary: "Answers single calls of JSON-RPC 2.0, or a batch.", body: singleOrBatch{rpcCall{}}, answer: singleOrBatch{rpcAnswer{}},
		others: map[string]string{"204": "There were notifications only, which nobody answers."},
	},
	"GET /v1/peers":  {id: "listPeers", summary: "The workspaces that the agent can delegate to, by the order of the platforms, then by id.", answer: pannier.PeerList{}},
	"GET /v1/health": {id: "getHealth", summary: "What is wrong, and what to do.", answer: pannier.Health{}},
	"POST /v1/health/acknowledge": {
		id: "acknowledgeCondition", summary: "Ends a condition of health that lasts until an operator has looked at it.", body: acknowledgement{}, answer: pannier.Health{},
	},
	"GET /healthz": {id: "getHealthz", summary: "Success while the process answers.", texts: []string{"text/plain"}},
	"GET /readyz":  {id: "getReadyz", summary: "Success once the first scan is served.", texts: []string{"text/plain"}},
	"GET /livez":   {id: "getLivez", summary: "Success unless a restart would help.", texts: []string{"text/plain"}},
	"GET /metrics": {id: "getMetrics", summary: "The metrics, as Prometheus reads them.", texts: []string{"text/plain"}, untagged: true},
	openAPIPattern: {id: "getOpenAPI", summary: "This document.", answer: map[string]json.RawMessage{}},
}

// The parameters of the routes that move skills.
var (
	kindParameter     = query("source_kind", "string", "The kind of root: workspace, which is the default, or managed.")
	dryRunParameter   = query("dry_run", "boolean", "Tells what would come of it, and touches nothing.")
	expectedParameter = query("expected_fingerprint", "string", "The fingerprint that the skill must have.")
	removalParameters = []parameter{kindParameter, expectedParameter, dryRunParameter}
	acceptParameters  = []parameter{
		queryList("accept", object{"type": "string"}, "Rules whose blocking findings are accepted for exactly this content at this path. For a scan, none takes all acceptances back."),
		query("reason", "string", "Why they are accepted: at most 500 bytes on one line."),
	}
	archiveParameters = append([]parameter{
		kindParameter, dryRunParameter,
		query("file_name", "string", "What the archive is called where it comes from."),
		query("allow_missing", "boolean", "Installs a skill that lacks what it needs."),
	}, acceptParameters...)
)

// promotionBody names what a packet must have.
type promotionBody struct {
	PromoteToSkill   any    `json:"promote_to_skill"`
	RepetitionSignal any    `json:"repetition_signal"`
	Summary          string `json:"summary,omitempty"`
}

// rpcCall and rpcAnswer are the envelopes of JSON-RPC 2.0.
type (
	rpcCall struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}
	rpcAnswer struct {
		Version string    `json:"jsonrpc"`
		ID      any       `json:"id"`
		Result  any       `json:"result,omitempty"`
		Error   *rpcError `json:"error,omitempty"`
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
)

// rescanned is the answer to a rescan.
type rescanned struct {
	SnapshotVersion uint64         `json:"snapshot_version"`
	Digest          pannier.Digest `json:"digest"`
}

// environmentBody is an environment as an agent puts it, which may leave out what it does not know.
type environmentBody struct {
	OS     string                    `json:"os,omitempty"`
	Arch   string                    `json:"arch,omitempty"`
	Bins   []string                  `json:"bins,omitempty"`
	Env    []string                  `json:"env,omitempty"`
	Config []string                  `json:"config,omitempty"`
	MCP    []string                  `json:"mcp,omitempty"`
	Source pannier.EnvironmentSource `json:"source,omitempty"`
	At     string                    `json:"at,omitempty"`
}
