package fields

import "pannier"

// Table lists every field, in the order of docs/SKILLS.md. `go test ./loader/fields -update` writes the table there.
var Table = []Field{
	{
		Name: "name", Text: func(s *pannier.Skill) *string { return &s.Name }, Custom: true,
		Profiles: AgentSkills | Pioneer, Required: true,
		Meaning: "display name; else `displayName` of `_meta.json`, else the folder",
	},
	{
		Name: "slug", Text: func(s *pannier.Skill) *string { return &s.Slug }, Custom: true,
		Profiles: Pioneer | ClawHub | OpenClaw, Required: true,
		Meaning: "key of the skill; see below",
	},
	{
		Name: "owner", Text: func(s *pannier.Skill) *string { return &s.Owner }, Custom: true,
		Profiles: Pioneer | OpenClaw,
		Meaning:  "qualifies the slug",
	},
	{
		Name: "description", Text: func(s *pannier.Skill) *string { return &s.Description }, Custom: true,
		Profiles: AgentSkills | Pioneer, Prose: ManyLines, Required: true,
		Meaning: "what it does and when to use it",
	},
	{
		Name: "version", Text: func(s *pannier.Skill) *string { return &s.Version }, Custom: true,
		Profiles: Pioneer,
		Meaning:  "semantic version; see below",
	},
	{
		Name: "license", OpenClaw: "license", Text: func(s *pannier.Skill) *string { return &s.License },
		Profiles: AgentSkills | Pioneer, Prose: OneLine, Meaning: "shown as it is",
	},
	{
		Name: "compatibility", OpenClaw: "compatibility", Text: func(s *pannier.Skill) *string { return &s.Compatibility },
		Profiles: AgentSkills | Pioneer, Prose: ManyLines, Meaning: "shown as it is",
	},
	{
		Name: "homepage", OpenClaw: "homepage", Text: func(s *pannier.Skill) *string { return &s.Homepage },
		Meaning: "shown as it is",
	},
	{
		Name: "emoji", OpenClaw: "emoji", Text: func(s *pannier.Skill) *string { return &s.Emoji },
		Meaning: "shown as it is",
	},
	{
		Name: "tags", List: func(s *pannier.Skill) *[]string { return &s.Tags }, Split: Commas,
		Profiles: Molecule,
		Meaning:  "shown on the agent card",
	},
	{
		Name: "examples", List: func(s *pannier.Skill) *[]string { return &s.Examples },
		Profiles: Molecule,
		Meaning:  "example requests",
	},
	{
		Name: "triggers", List: func(s *pannier.Skill) *[]string { return &s.Triggers }, Custom: true,
		Meaning: "texts that call for the skill",
	},
	{
		Name: "when-to-use", Custom: true, Prose: ManyLines,
		Shape: "text", Meaning: "one more trigger",
	},
	{
		Name: "paths", List: func(s *pannier.Skill) *[]string { return &s.Paths }, Split: Globs,
		Profiles: Pioneer | OpenClaw,
		Meaning:  "globs of files that call for the skill",
	},
	{
		Name: "runtime", List: func(s *pannier.Skill) *[]string { return &s.Runtimes }, Custom: true,
		Profiles: Molecule | OpenClaw,
		Shape:    "list or mapping", Meaning: "adapters that the skill fits; absent, `[]`, `*`: all",
	},
	{
		Name: "allowed-tools", List: func(s *pannier.Skill) *[]string { return &s.AllowedTools }, Split: Words,
		Profiles: AgentSkills | Pioneer, Restricts: true,
		Meaning: "tools that the agent may use with the skill; split at blanks",
	},
	{
		Name: "user-invocable", Flag: func(s *pannier.Skill) *bool { return &s.UserInvocable }, Default: true,
		Profiles: Pioneer | OpenClaw, Restricts: true,
		Meaning: "false: users cannot name the skill",
	},
	{
		Name: "disable-model-invocation", Flag: func(s *pannier.Skill) *bool { return &s.DisableModelInvocation },
		Profiles: Pioneer | OpenClaw, Restricts: true,
		Meaning: "true: the model is not offered the skill",
	},
	{
		Name: "dependencies", Custom: true,
		Profiles: OpenClaw,
		Shape:    "mapping", Meaning: "`env`, `api_keys`, `bins`, `commands`, `mcp`, `config`",
	},
	{
		Name: "metadata", Custom: true,
		Profiles: AgentSkills,
		Shape:    "mapping", Meaning: "requirements in OpenClaw's form; see below",
	},
	{
		Name: "primary-env", OpenClaw: "primaryEnv", Text: func(s *pannier.Skill) *string { return &s.PrimaryEnv },
		Meaning: "shown as `primary_env`; wins over `metadata…primaryEnv`",
	},
	{OpenClaw: "skillKey", Text: func(s *pannier.Skill) *string { return &s.SkillKey }},
	{
		Name: "eligibility", Custom: true, Restricts: true,
		Shape: "mapping", Meaning: "see below",
	},
	{
		Name: "scope", Custom: true,
		Shape: "text", Meaning: "`disabled` disables the skill",
	},
	{
		Name: "conflicts", List: func(s *pannier.Skill) *[]string { return &s.Conflicts }, Split: Commas, Custom: true,
		Meaning: "skills that must not be usable together with this one",
	},
	{
		Name: "commands", Custom: true,
		Shape: "list", Meaning: "mappings `name`, `description`, `args`",
	},
	{
		Name: "overrides", Custom: true,
		Shape: "mapping", Meaning: "what the skill proposes for its turns; see below",
	},
}
