// Package config reads what people write for pannier: the sidecar's own settings, and the config.yaml of the workspace.
// The two could hardly be treated more differently, because they have different owners.
//
// # Settings: strict
//
// The settings belong to the operator, and a typing error in them is best reported before anything starts. So
// [Load] refuses what it does not know or understand, and tells all faults at once. A setting has one name in three
// spellings:
//
//	--max-wait=10s           flag
//	PANNIER_MAX_WAIT=10s     variable
//	max_wait: 10s            key of the settings file (--config, PANNIER_CONFIG)
//
// In the settings file, keys such as `platform.url` are nested; the other spellings join the parts: --platform-url,
// PANNIER_PLATFORM_URL. Three settings hold several values and are called by the plural in the file: `roots` is --root,
// once for each, and PANNIER_ROOT, separated like PATH; `platform.headers` is --platform-header NAME=VALUE, once for
// each, and PANNIER_PLATFORM_HEADER, one to a line, or, where it is a single line, separated by commas; `policy.skills`,
// in the file a mapping of slugs to their switches, is --policy-skill SLUG:SWITCH=BOOL, once for each, and
// PANNIER_POLICY_SKILL, separated by commas. `skip` and `write_uids` are separated by commas.
//
// The first of these that gives a setting decides it alone, lists included, and what it overrides is not looked at:
//
//  1. the flag,
//  2. the PANNIER_* variable,
//  3. the settings file,
//  4. the variable that the agent's platform sets for the same purpose: WORKSPACE_CONFIG_PATH for the workspace,
//     WORKSPACE_ID for its id, PLATFORM_URL for the platform's address, and CONFIGS_DIR for the directory of the token,
//  5. the default.
//
// A variable that is set to nothing, and a key without a value, do not give a setting. An empty flag does: it takes back
// what a variable or the file says, as far as the setting can be empty.
//
// An unknown PANNIER_* variable is a fault too, with one exception: Kubernetes gives every pod variables for each
// service, and where a service is called pannier, or pannier-something, they look like ours.
//
// # config.yaml: tolerant
//
// The config.yaml of a workspace belongs to the agent, and is written by people, templates and a canvas that does not
// quote what it writes. pannier takes some fields and ignores the rest. A [WorkspaceReader] never fails: what it cannot
// make sense of is told as a [pannier.Problem], and costs that field, not the file; a file that cannot be read or
// parsed costs nothing either, since what it last said goes on to count. The codes of the problems are
//
//	config.missing          info     there is no config.yaml
//	config.unreadable       error    it cannot be opened or read
//	config.not_regular      error    it is a directory, a pipe, a device
//	config.too_large        error    it has more than a mebibyte
//	config.changing         error    it was being written while it was read
//	config.encoding         error    it is not UTF-8, or holds a NUL
//	config.syntax           error    it is not YAML, or not one mapping
//	config.key.repeated     warning  a key stands twice; the last counts
//	config.type             warning  a field has a shape that it cannot have; its default counts
//	config.bool             warning  a truth value in words that YAML does not know
//	config.skills.shape     warning  skills is not a list and was read as one
//	config.skills.entry     warning  an entry of skills was left out
//	config.skills.repeated  warning  an entry of skills stands twice; the first counts
//
// # Files of the system prompt
//
// The files of `prompt_files`, or else system-prompt.md, and after them MEMORY.md and USER.md where they are there, are
// read with config.yaml: regular files below the workspace, as texts in UTF-8 whose lines end in LF, without blanks at
// their ends. One that cannot be read is there without a text; one that is missing is not there. A file is read again
// only where its stat, or how near that is to the look, leaves room for a change. Their problems are
//
//	config.prompt_shape        warning  prompt_files is not a list; a text was read as one, else the default counts
//	config.prompt_entry        warning  an entry of prompt_files is not a path and was left out
//	config.prompt_repeated     warning  an entry of prompt_files stands twice; the first counts
//	config.prompt_too_many     warning  an entry of prompt_files is beyond the 64th, and was left out
//	config.prompt_missing      warning  a file that prompt_files lists is not there
//	config.prompt_outside      warning  an entry is absolute or leads out of the workspace, and was left out;
//	                           error    where a link does so, the file is there without a text
//	config.prompt_unreadable   error    a file cannot be opened or read
//	config.prompt_not_regular  error    it is a directory, a pipe, a device
//	config.prompt_too_large    error    it has more than 256 KiB, or all have more than a mebibyte with it
//	config.prompt_changing     error    it was being written while it was read
//	config.prompt_encoding     error    it holds a NUL;
//	                           warning  where it is not UTF-8, what is not was replaced
//
// # Changes
//
// [Changes] tells two readings apart, and which of the changed fields take effect without a restart of the agent.
// [RestartNeeded] is the same as problems, which stay until the agent is restarted:
//
//	config.restart_needed  info  a field has changed that the agent reads only when it starts
//	config.tier_ignored    info  tier has changed, which the agent ignores
//
// # What is not done here
//
// Nothing is created, written or watched, and no path is checked for what is there: whether the workspace exists is for
// the caller to find out. The only files that are opened are the settings file, config.yaml and the prompt files.
package config
