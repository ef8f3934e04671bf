package scan

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// Version is the version of the rules. It is raised with every change that can find more or less in the same files, so that
// verdicts of older rules are recognized. A test compares it with the sources of this package.
const Version = 14

// Rule is one thing that a scan looks for.
type Rule struct {
	// Code is stable and dotted, such as "scan.file.elf".
	Code     string           `json:"code"`
	Severity pannier.Severity `json:"severity"`
	// Blocking findings prevent that a skill is installed or used.
	Blocking bool `json:"blocking"`
	// Message says what was found, Hint what to do.
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Rules returns every rule, by code.
func Rules() []Rule {
	all := make([]Rule, 0, len(rules))
	for _, r := range rules {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

func (r Rule) finding(path string, line int, detail string) pannier.Finding {
	message := r.Message
	if detail != "" {
		message += ": " + detail
	}
	return pannier.Finding{
		Rule: r.Code, Severity: r.Severity, Path: path, Line: line, Message: message, Hint: r.Hint, Blocking: r.Blocking,
	}
}

// knownInstaller is the rule of installers of projects that are known.
const knownInstaller = "scan.command.known_installer"

// The removal of everything: as a command, and as a mention.
const (
	removesRoot  = "scan.command.rm_root"
	removalNamed = "scan.command.rm_root_named"
)

func isSecret(code string) bool { return strings.HasPrefix(code, "scan.secret.") }

var rules = byCode(slices.Concat(pathRules, fileRules, boundRules, commandRules, unicodeRules, secretRules))

func byCode(list []Rule) map[string]Rule {
	m := make(map[string]Rule, len(list))
	for _, r := range list {
		m[r.Code] = r
	}
	return m
}

// blocks, warns and informs return a rule of each severity.
func blocks(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityError, Blocking: true, Message: message, Hint: hint}
}

func warns(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityWarning, Message: message, Hint: hint}
}

func informs(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityInfo, Message: message, Hint: hint}
}

const copyIntoSkill = "copy the target into the skill, or remove the symlink"

var pathRules = []Rule{
	blocks("scan.path.root_missing", "the root of the skill cannot be opened", "check the path and the permissions of the root"),
	blocks("scan.path.skill_missing", "the skill directory does not exist", "check the path; the skill may have been moved or removed"),
	blocks("scan.path.containment", "the skill directory is outside of its root", "use a directory below the root, by a path without .. and without symlinks that lead out"),
	informs("scan.path.symlink_inside", "a symlink to another file of the skill", "nothing to do; the target is scanned"),
	warns("scan.path.symlink_present", "the symlink leads out of the skill, but not out of its root; the target is not scanned", copyIntoSkill),
	blocks("scan.path.symlink_escape", "the symlink leads out of the root", copyIntoSkill),
	blocks("scan.path.symlink_broken", "the target of the symlink does not exist", "remove the symlink, or add the target"),
	blocks("scan.path.unreadable", "not readable, so it was not scanned", "give the user that pannier runs as read permission, or remove it"),
	warns("scan.path.name", "the name contains control characters or invisible characters, or is not UTF-8", "rename it to visible characters"),
	warns("scan.path.hidden", "a hidden file; it is scanned like any other", "remove it, or rename it without the leading dot, if the skill needs it"),
	blocks("scan.archive.absolute_path", "the entry of the archive has an absolute path", "pack the archive again from within the skill directory, with relative paths"),
	blocks("scan.archive.traversal", "the entry of the archive leads out of it", "pack the archive again without .. in paths"),
	blocks("scan.install.containment", "the installation path is outside of the install root", "use a slug without slashes and dots, and check the install root for symlinks"),
	blocks("scan.install.path_unresolved", "the installation path cannot be resolved", "check that the install root exists and is readable"),
}

const noPrograms = "remove the program; list it under install, or include its source, so that it can be reviewed"

var fileRules = []Rule{
	blocks("scan.file.elf", "a program for Linux (ELF)", noPrograms),
	blocks("scan.file.macho", "a program for macOS (Mach-O)", noPrograms),
	blocks("scan.file.pe", "a program for Windows (PE)", noPrograms),
	warns("scan.file.suspicious_executable", "a file named like a script or a program, without an interpreter line", "review it before the skill is used"),
	warns("scan.file.archive", "an archive; not all of its content is scanned", "unpack it into the skill, so that it is scanned, or remove it"),
	blocks("scan.file.setuid", "the set-user-id or set-group-id bit is set", "clear it: chmod u-s,g-s"),
	warns("scan.file.world_writable", "all users of the machine can change it", "remove the write permission of others: chmod o-w"),
	blocks("scan.file.special", "not a regular file", "remove it; a skill consists of regular files and directories"),
	blocks("scan.file.size_limit", "the file is larger than allowed", "make it smaller, or let the skill fetch it; the rest of it was not scanned"),
}

const smaller = "make the skill smaller; the rest was not scanned"

var boundRules = []Rule{
	blocks("scan.bound.entries", "more files and directories than the limit", smaller),
	blocks("scan.bound.bytes", "more bytes than the limit", smaller),
	blocks("scan.bound.depth", "directories deeper than the limit", smaller),
	blocks("scan.bound.places", "more suspicious places in the texts than the limit", smaller),
	blocks("scan.bound.time", "the scan timed out", "scan again with more time"),
	warns("scan.bound.findings", "more findings than the limit", "fix the listed ones and scan again"),
}

const removeCommand = "remove the command, unless you know why it is there; a text that only mentions it can write it differently"

const notRun = "check that no instruction tells the agent to run it"

var commandRules = []Rule{
	blocks("scan.command.reverse_shell_devtcp", "a shell is connected to the network by /dev/tcp", removeCommand),
	blocks("scan.command.reverse_shell_nc", "nc or socat connects a program to the network", removeCommand),
	blocks("scan.command.reverse_shell_script", "a script connects a shell to the network", removeCommand),
	blocks(removesRoot, "everything on the machine or in the home directory is removed, encrypted or made unusable", removeCommand),
	informs(removalNamed, "a text mentions a command that removes everything", notRun),
	blocks("scan.command.pipe_shell", "the response of a host is run by a shell without a check", "download it to a file, check its digest, then run it; or use a package manager"),
	blocks("scan.command.package_http", "a package is installed from an address without https, from an unknown index, or without its checks", "install it by name from a known index, or by https with a digest"),
	warns(knownInstaller, "the installer of a project is run without a check", "use a package manager if possible"),
	blocks("scan.command.decode_shell", "encoded text is decoded and run", "write the command readably"),
	blocks("scan.command.env_exfil", "a credential is sent to another host than the one it is for", removeCommand),
	blocks("scan.command.data_exfil", "credentials or the whole environment are sent to a host", removeCommand),
	warns("scan.command.env_sent", "a secret of the environment is sent, in a URL or a body, to a host that it does not name", "send it in a header, and check the host"),
	informs("scan.command.env_used", "a secret of the environment is sent along with a request", "check that the host is the one that the secret is for"),
	warns("scan.command.eval_base64", "encoded text is decoded and evaluated", "write the code readably"),
	warns("scan.command.credential_path", "a file with credentials is mentioned", "check what the skill does with it"),
	warns("scan.command.metadata_credentials", "the credentials of a cloud machine are read from its metadata service", "check what the skill does with them"),
	blocks("scan.command.persistence", "a command is installed that runs at each login or by a timer, or gives another person login or root access", removeCommand),
	blocks("scan.command.container_escape", "a container gets the files or the engine of the machine", removeCommand),
	blocks("scan.command.protection_off", "the protection of the machine is switched off, or its records are removed", removeCommand),
	warns("scan.command.protection_weakened", "the protection of the machine is weakened", "check why the skill does it, and that it is undone"),
	warns("scan.command.resources_removed", "the resources of an environment or a database are removed without a question", "check which they are, and ask before it"),
	blocks("scan.command.miner", "a program that mines a cryptocurrency is run", removeCommand),
	blocks("scan.command.injection", "a text tells the reader to ignore its instructions or to deceive the user", "remove the text"),
	informs(described, "a command that would be reported is in a passage about attacks", notRun),
	informs(commented, "a command that would be reported is in a comment", notRun),
	informs(printed, "a command that would be reported is in a text that a script prints", notRun),
	informs(sampled, "a command that would be reported is in a test, an evaluation or a sample", notRun),
}

const removeCharacters = "remove the characters; find them with an editor that shows them, or: grep -nP '[^\\x00-\\x7F]'"

var unicodeRules = []Rule{
	warns("scan.unicode.invisible", "invisible characters", removeCharacters),
	warns("scan.unicode.bidi", "characters that change the displayed order of a text", removeCharacters),
	blocks("scan.unicode.split_words", "invisible characters in the midst of several words", removeCharacters),
	blocks("scan.unicode.tags", "tag characters: a text that only a model reads", removeCharacters),
	blocks("scan.unicode.variation", "a run of variation selectors: a text that only a model reads", removeCharacters),
}

const revoke = "revoke it, because it is exposed; read it from the environment instead"

func secret(code, what string) Rule {
	return blocks("scan.secret."+code, what+" is hard-coded", revoke)
}

var secretRules = []Rule{
	secret("private_key", "a private key"),
	secret("aws_access_key", "an AWS access key id"),
	secret("aws_secret_key", "an AWS secret access key"),
	secret("github", "a GitHub token"),
	secret("gitlab", "a GitLab token"),
	secret("slack", "a Slack token or webhook"),
	secret("openai", "an API key in the form of OpenAI's"),
	secret("anthropic", "an Anthropic API key"),
	secret("google", "a Google API key or client secret"),
	secret("stripe", "a Stripe live key"),
	secret("npm", "an npm token"),
	secret("pypi", "a PyPI token"),
	secret("huggingface", "a Hugging Face token"),
	secret("sendgrid", "a SendGrid API key"),
	secret("digitalocean", "a DigitalOcean token"),
	secret("telegram", "a Telegram bot token"),
	informs(sampledSecret, "a probable secret is in a test, an evaluation or a sample", revoke),
	warns("scan.secret.jwt", "a JSON Web Token is hard-coded", revoke),
	warns("scan.secret.assignment", "a probable secret is hard-coded", revoke),
}
