package config

import (
	"slices"

	"pannier"
)

type effect int

const (
	effectIgnored effect = iota
	effectHot
	effectRestart
)

type fieldEffect struct {
	key    string
	effect effect
	why    string // as the end of a sentence that begins with the field
}

// fieldEffects holds every field that the agent documents. Hot are those that it documents so, and the files of the
// system prompt, which pannier serves anew. What its loader reads and nothing says is hot was read when it started.
var fieldEffects = []fieldEffect{
	{"name", effectHot, "is on the card, which is made anew"},
	{"description", effectHot, "is on the card, which is made anew"},
	{"version", effectHot, "is on the card, which is made anew"},
	{"model", effectHot, "is documented to count from the next call of the model"},
	{"skills", effectHot, "selects skills, which is done anew"},
	{"tools", effectHot, "is documented to be loaded anew"},
	{"prompt_files", effectHot, "names the files of the system prompt, which is made anew"},
	{"shared_context", effectHot, "is documented to be fetched by the children when they make their next prompt"},
	{"delegation", effectHot, "is documented to count from the next delegation"},
	{"memory", effectHot, "is documented to choose another backend at once; what the old one holds stays there"},

	{"a2a", effectRestart, "says where the agent listens and what it can do, and is read when it starts"},
	{"compliance", effectRestart, "is wired into the agent when it starts"},
	{"effort", effectRestart, "is handed to the agent's runtime when it starts"},
	{"governance", effectRestart, "is wired into the agent when it starts"},
	{"hitl", effectRestart, "opens the channels to people when the agent starts"},
	{"idle_interval_seconds", effectRestart, "sets a clock when the agent starts"},
	{"idle_prompt", effectRestart, "is read when the agent starts"},
	{"idle_prompt_file", effectRestart, "is read when the agent starts"},
	{"initial_prompt", effectRestart, "is sent once, when the agent starts for the first time"},
	{"initial_prompt_file", effectRestart, "is sent once, when the agent starts for the first time"},
	{"plugins", effectRestart, "is written into AGENTS.md when the agent starts"},
	{"rbac", effectRestart, "is read when the agent starts"},
	{"role", effectRestart, "is written into AGENTS.md when the agent starts"},
	{"runtime", effectRestart, "chooses the adapter, which is the agent's process itself"},
	{"runtime_config", effectRestart, "is handed to the agent's runtime when it starts"},
	{"sandbox", effectRestart, "chooses where tools run, when the agent starts"},
	{"security_scan", effectRestart, "says how the agent scans the skills that it loads when it starts"},
	{"sub_workspaces", effectRestart, "is a team, which is started with the agent"},
	{"task_budget", effectRestart, "is handed to the agent's runtime when it starts"},

	{keyTier, effectIgnored, "is set where the workspace is provisioned; the agent takes no other from its file"},
	{"env", effectIgnored, "is documented, and not read by the agent"},
	{"template_schema_version", effectIgnored, "is for the tools that write the file"},
}

// keyTier is the field of which the agent's documentation promises a warning.
const keyTier = "tier"

// effectOf returns the effect of a field. The agent ignores what it does not know.
func effectOf(key string) effect {
	if i := slices.IndexFunc(fieldEffects, func(f fieldEffect) bool { return f.key == key }); i >= 0 {
		return fieldEffects[i].effect
	}
	return effectIgnored
}

// Changes returns what changed in config.yaml and the files of the system prompt between two readings, and whether
// anything did. A config.yaml that has become unreadable does not count as a change, since what it last said goes on to count.
func Changes(before, after pannier.Workspace) (pannier.WorkspaceChanged, bool) {
	c := pannier.WorkspaceChanged{Files: changedKeys(promptDigests(before.Prompts), promptDigests(after.Prompts))}
	c.Fields = pannier.FieldChanges{Hot: []string{}, Restart: []string{}, Ignored: []string{}}
	keys := changedKeys(before.Fields, after.Fields)
	for _, key := range keys {
		switch effectOf(key) {
		case effectHot:
			c.Fields.Hot = append(c.Fields.Hot, key)
		case effectRestart:
			c.Fields.Restart = append(c.Fields.Restart, key)
		default:
			c.Fields.Ignored = append(c.Fields.Ignored, key)
		}
	}
	if len(keys) > 0 || (before.Fields == nil) != (after.Fields == nil) {
		c.Files = append(c.Files, pannier.WorkspaceFile)
	}
	slices.Sort(c.Files)
	c.Files = slices.Compact(c.Files) // config.yaml can be listed as a prompt file
	return c, len(c.Files) > 0
}

func promptDigests(files []pannier.PromptFile) map[string]pannier.Digest {
	all := make(map[string]pannier.Digest, len(files))
	for i := range files {
		all[files[i].Path] = files[i].Digest
	}
	return all
}

// changedKeys returns the keys that only one of two maps has, or that differ, sorted.
func changedKeys(before, after map[string]pannier.Digest) []string {
	keys := []string{}
	for key, digest := range after {
		if old, ok := before[key]; !ok || old != digest {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// RestartNeeded returns a problem for each field that is not what it was at a reading, and that the agent reads only when it
// starts, or not at all although one would think so. first is the reading by which the agent is taken to run; where one of the two is of no config.yaml, nothing can be said.
func RestartNeeded(first, now pannier.Workspace) []pannier.Problem {
	if first.Fields == nil || now.Fields == nil {
		return nil
	}
	changed := changedKeys(first.Fields, now.Fields)
	var problems []pannier.Problem
	for _, f := range fieldEffects {
		switch {
		case !slices.Contains(changed, f.key):
		case f.effect == effectRestart:
			problems = append(problems, fileProblem(codeRestartNeeded, pannier.SeverityInfo, f.key,
				f.key+" has changed since pannier or the agent started, and the agent needs a restart for it: it "+f.why,
				"restart the agent and have it report its environment, or put the old value back; without a report this stays until pannier is restarted too"))
		case f.key == keyTier:
			problems = append(problems, fileProblem(codeTierIgnored, pannier.SeverityInfo, f.key,
				f.key+" has changed since pannier started, which has no effect: it "+f.why,
				"change the tier where the workspace is provisioned, and put the old value back"))
		}
	}
	return problems
}
