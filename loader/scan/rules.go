package scan

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// Version numbers the rules. It grows with every change that may find more, or less, in the same files, so that kept verdicts
// of older rules are known for that. A test compares the sources of this package with it.
const Version = 5

// Rule is one thing that a scan looks for.
type Rule struct {
	// Code is stable and dotted, such as "scan.file.elf".
	Code     string           `json:"code"`
	Severity pannier.Severity `json:"severity"`
	// Blocking says that its findings keep a skill from being installed and used.
	Blocking bool `json:"blocking"`
	// Message says what is found, Hint what to do about it.
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

// knownInstaller is the rule that [Options].BlockInstallers makes a blocking one.
const knownInstaller = "scan.command.known_installer"

// The removal of everything, where it is run and where it is only named.
const (
	removesRoot  = "scan.command.rm_root"
	removalNamed = "scan.command.rm_root_named"
)

// isCommand reports whether a rule is about a command in a text.
func isCommand(code string) bool { return strings.HasPrefix(code, "scan.command.") }

// isSecret reports whether a rule is about a secret that is written down.
func isSecret(code string) bool { return strings.HasPrefix(code, "scan.secret.") }

// rules are all rules by their code.
var rules = byCode(slices.Concat(pathRules, fileRules, boundRules, commandRules, unicodeRules, secretRules))

func byCode(list []Rule) map[string]Rule {
	m := make(map[string]Rule, len(list))
	for _, r := range list {
		m[r.Code] = r
	}
	return m
}

// blocks, warns and tells make a rule of each weight.
func blocks(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityError, Blocking: true, Message: message, Hint: hint}
}

func warns(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityWarning, Message: message, Hint: hint}
}

func tells(code, message, hint string) Rule {
	return Rule{Code: code, Severity: pannier.SeverityInfo, Message: message, Hint: hint}
}

const copyIntoSkill = "put a copy of what it leads to into the skill, or remove the link"

var pathRules = []Rule{
	blocks("scan.path.root_missing", "the root of the skill can not be opened", "check the path of the root and who may read it"),
	blocks("scan.path.skill_missing", "there is no such skill directory", "check the path; the skill may have been moved or removed meanwhile"),
	blocks("scan.path.containment", "the skill directory lies outside its root", "name a directory below the root, by a path without .. and without links that lead out"),
	tells("scan.path.symlink_inside", "a link to another place in the skill", "nothing has to be done; what it leads to is scanned where it lies"),
	warns("scan.path.symlink_present", "the link leads out of the skill and stays in its root; what it leads to is not scanned", copyIntoSkill),
	blocks("scan.path.symlink_escape", "the link leads out of the root", copyIntoSkill),
	blocks("scan.path.symlink_broken", "the link leads nowhere", "remove the link, or add what it should lead to"),
	blocks("scan.path.unreadable", "this can not be read, so nobody has looked at it", "let the user that pannier runs as read it, or remove it"),
	warns("scan.path.name", "the name has control characters, characters that can not be seen, or is no UTF-8", "rename it, so that people see what it is called"),
	warns("scan.path.hidden", "hidden from a listing; it is scanned like any other", "remove it, or rename it without the leading dot, if the skill needs it"),
	blocks("scan.archive.absolute_path", "the entry of the archive has an absolute path", "pack the archive anew from within the skill directory, with relative paths"),
	blocks("scan.archive.traversal", "the entry of the archive leads out of it", "pack the archive anew; no path may have .. in it"),
	blocks("scan.install.containment", "the place to install to lies outside the install root", "use a slug without slashes and dots, and look for links in the install root"),
	blocks("scan.install.path_unresolved", "the place to install to can not be resolved", "check that the install root is there and who may read it"),
}

const noPrograms = "remove the program; name it under install, or bring its source, so that people can see what it does"

var fileRules = []Rule{
	blocks("scan.file.elf", "a program for Linux (ELF)", noPrograms),
	blocks("scan.file.macho", "a program for macOS (Mach-O)", noPrograms),
	blocks("scan.file.pe", "a program for Windows (PE)", noPrograms),
	warns("scan.file.suspicious_executable", "a file named like a script or a program, without an interpreter line", "read what it does before the skill is used"),
	warns("scan.file.archive", "an archive; not all that is in it is scanned", "unpack it into the skill, so that it is scanned, or remove it"),
	blocks("scan.file.setuid", "the set-user-id or set-group-id bit is set", "clear it: chmod u-s,g-s"),
	warns("scan.file.world_writable", "everybody on the machine may change it", "let others only read it: chmod o-w"),
	blocks("scan.file.special", "no regular file", "remove it; a skill consists of regular files and directories"),
	blocks("scan.file.size_limit", "the file is larger than a file of a skill may be", "make it smaller, or let the skill fetch it; the rest of it was not scanned"),
}

const smaller = "make the skill smaller; what is past the bound was not scanned"

var boundRules = []Rule{
	blocks("scan.bound.entries", "more files and directories than are scanned", smaller),
	blocks("scan.bound.bytes", "more bytes in all than are scanned", smaller),
	blocks("scan.bound.depth", "directories deeper than are scanned", smaller),
	blocks("scan.bound.places", "more places in its texts than are looked at closely", smaller),
	blocks("scan.bound.time", "the scan was ended before it was done", "scan again, with more time"),
	warns("scan.bound.findings", "not every finding is told", "mend those that are told, and scan again"),
}

const removeCommand = "remove the command, unless you know why it is there; a text that only quotes it can write it differently"

var commandRules = []Rule{
	blocks("scan.command.reverse_shell_devtcp", "a shell talks to the network by /dev/tcp", removeCommand),
	blocks("scan.command.reverse_shell_nc", "nc or socat hands a program to the network", removeCommand),
	blocks("scan.command.reverse_shell_script", "a script hands a shell to the network", removeCommand),
	blocks(removesRoot, "everything on the machine or in the home directory is removed", removeCommand),
	tells(removalNamed, "a text names a command that removes everything, and does not run it", "check that no instruction tells the agent to run it"),
	blocks("scan.command.pipe_shell", "what a host answers is run by a shell, unseen", "fetch it into a file, check it against a digest, then run it; or use a package manager"),
	blocks("scan.command.package_http", "a package is installed from an address without https", "install it by its name from an index, or by https with a digest"),
	warns(knownInstaller, "the installer of a project is run unseen", "use a package manager where there is one"),
	blocks("scan.command.decode_shell", "encoded text is decoded and run", "write the command so that people can read it"),
	blocks("scan.command.env_exfil", "a credential is sent to a host that it is not for", removeCommand),
	blocks("scan.command.data_exfil", "credentials or the whole environment are sent to a host", removeCommand),
	warns("scan.command.env_sent", "a secret of the environment is sent, in an address or a body, to a host that it does not name", "send it in a header, and check the host"),
	tells("scan.command.env_used", "a secret of the environment is sent along with a request", "check that the host is the one that the secret is for"),
	warns("scan.command.eval_base64", "encoded text is decoded and evaluated", "write the code so that people can read it"),
	warns("scan.command.credential_path", "a file is named that holds credentials", "check what the skill does with it"),
	warns("scan.command.metadata_credentials", "the credentials of a cloud machine are read from its metadata service", "check what the skill does with them"),
	blocks("scan.command.persistence", "a command is left behind that runs at each login, or by a timer, or lets another person log in or be root", removeCommand),
	blocks("scan.command.injection", "the reader is told to ignore its instructions, and to run a command", "remove the text"),
	warns(described, "a command that would block stands in a passage about attacks", "check that no instruction tells the agent to run it"),
	warns(commented, "a command that would block stands in a comment", "check that no instruction tells the agent to run it"),
}

const removeCharacters = "remove the characters; an editor that shows them helps, or: grep -nP '[^\\x00-\\x7F]'"

var unicodeRules = []Rule{
	warns("scan.unicode.invisible", "characters that can not be seen", removeCharacters),
	warns("scan.unicode.bidi", "characters that show a text in another order than it has", removeCharacters),
	blocks("scan.unicode.tags", "tag characters: a text that only a model reads", removeCharacters),
	blocks("scan.unicode.variation", "a run of variation selectors: a text that only a model reads", removeCharacters),
}

const revoke = "revoke it, for it has been seen; take it from the environment instead of writing it down"

// secret makes the rule of a secret in a known format.
func secret(code, what string) Rule {
	return blocks("scan.secret."+code, what+" is written down", revoke)
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
	warns("scan.secret.jwt", "a JSON Web Token is written down", revoke),
	warns("scan.secret.assignment", "what looks like a secret is written down", revoke),
}
