// Package config reads what people write for pannier: the sidecar's own settings, and the config.yaml of the workspace.
// The two could hardly be treated more differently, because they have different owners.
//
// # Settings: strict
//
// The settings belong to the operator, and a typing error in them is best reported before anything starts. So
// [Load] refuses what it does not know or understand, and tells all faults at once. A setting has one name in three
// spellings:
//
//	--delete-grace=10s       flag
//	PANNIER_DELETE_GRACE=10s variable
//	delete_grace: 10s        key of the settings file (--config, PANNIER_CONFIG)
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
// read is a [pannier.Problem], and costs that field, not the file; a file that cannot be read or parsed costs nothing
// either, because what it last said still counts. docs/CODES.md lists the problems.
//
// The files of `prompt_files`, or else system-prompt.md, and after them MEMORY.md and USER.md if they exist, are read with
// config.yaml: regular files below the workspace, as texts in UTF-8 whose lines end in LF, without blanks at their ends. One
// that cannot be read is listed without a text. A file is read again only if its stat leaves room for a change.
//
// Nothing is created, written or watched, and no path is checked for what it contains. The only files that are opened are
// the settings file, config.yaml and the prompt files.
package config
