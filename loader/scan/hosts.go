package scan

import (
	"bytes"
	_ "embed" // the list of installers
	"net"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// installers are URL prefixes from which known projects tell users to run an installer. Each entry was reviewed. An entry is a
// host that serves only that, or names the file or the project on a shared host.
var installers = strings.Fields(installerList)

//go:embed installers.txt
var installerList string

// astray is in an address that leads elsewhere than it begins: to another directory, or to a commit or a pull request, because
// GitHub shows those of every fork below the name of the project.
var astray = compile(`\.\.|%|/[0-9a-f]{7,40}(?:/|$)|/pull/`)

// isInstaller reports whether a URL is one of the installers, by https.
func isInstaller(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	return ok && !astray().MatchString(rest) && slices.ContainsFunc(installers, func(known string) bool {
		after, ok := strings.CutPrefix(rest, known)
		ok = ok || rest == strings.TrimSuffix(known, "sh")+"ps1" // the installer for Windows beside that of known
		return ok && (strings.Contains(known, "/") || after == "" || after[0] == '/')
	})
}

// owner is a service: the prefix of the variables with its credentials, its domains, and the command that prints a token of it.
type owner struct {
	variable string
	domains  []string
	tool     string
}

// owners are services. Hosts on which any user can run code are excluded as far as known.
var owners = []owner{
	{"GITHUB_", []string{"github.com", "githubusercontent.com", "ghcr.io", "githubcopilot.com", "models.inference.ai.azure.com"}, "gh auth token"},
	{"GH_", []string{"github.com", "githubusercontent.com", "ghcr.io", "githubcopilot.com", "models.inference.ai.azure.com"}, ""},
	{"AWS_", []string{"amazonaws.com", "aws.amazon.com", "api.aws"}, "get-session-token"},
	{"OPENAI_", []string{"openai.com", "openai.azure.com"}, ""},
	{"ANTHROPIC_", []string{"anthropic.com", "claude.ai", "claude.com"}, ""},
	{"GEMINI_", []string{"googleapis.com"}, ""},
	{"GOOGLE_", []string{"googleapis.com", "accounts.google.com", "www.google.com", "run.app", "cloudfunctions.net", "pkg.dev", "gcr.io", "cloud.goog"}, "gcloud auth"},
	{"SLACK_", []string{"slack.com"}, ""},
	{"STRIPE_", []string{"stripe.com"}, ""},
	{"NPM_", []string{"npmjs.org", "npmjs.com"}, ""},
	{"HF_", []string{"huggingface.co", "hf.co"}, ""},
	{"CLOUDFLARE_", []string{"cloudflare.com"}, ""},
	{"DISCORD_", []string{"discord.com", "discordapp.com"}, ""},
	{"TELEGRAM_", []string{"telegram.org"}, ""},
	{"AZURE_", []string{"azure.com", "microsoft.com", "windows.net", "azure.net", "azurewebsites.net", "azure-api.net", "azurecr.io", "dynamics.com", "powerplatform.com", "office.com", "visualstudio.com"}, "az account get-access-token"},
	{"HEROKU_", []string{"heroku.com"}, "heroku auth:token"},
	{"NOTION_", []string{"notion.com", "notion.so"}, ""},
}

// gateways are the domains of services that forward requests to many providers. They receive the keys of all of them.
var gateways = []string{
	"gateway.ai.cloudflare.com", "gateway.ai.vercel.com", "ai-gateway.vercel.sh", "openrouter.ai", "api.portkey.ai", "oai.helicone.ai",
	"anthropic.helicone.ai", "gateway.helicone.ai", "router.huggingface.co", "gateway.braintrust.dev", "api.braintrust.dev", "api.keywordsai.co",
	"gateway.truefoundry.ai", "gateway.requesty.ai", "router.requesty.ai",
}

func isWithin(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

var (
	url      = compile(`https?://[^\s"'` + "`" + `<>|\\)]+`)
	bareHost = compile(`(?:^|[\s"'])(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?:[/:\s"']|$)`)
	urlHost  = compile(`https?://(?:[^\s/@"']{0,100}@)?([A-Za-z0-9.-]+)([:/?#\s"'` + "`" + `\\)]|$)`)
	variable = compile(`\$\{?([A-Za-z][A-Za-z0-9_]*)`)
	header   = compile(`(?:-H|--header|-u|--user|--oauth2-bearer)(?:=|\s*)(?:"[^"\n]*|'[^'\n]*|\S*)$`)
)

// secretWords make the name of a variable that of a secret.
var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD"}

func namesVariable(text []byte, at int) bool {
	command := wholeCommand(text, at)
	return bytes.IndexByte(command, '$') >= 0 && slices.ContainsFunc(secretWords, func(w string) bool { return bytes.Contains(command, []byte(w)) })
}

// findSentSecret finds a request with a secret of the environment. Calling an API with its token is the purpose of many
// skills, so that alone is an information. A credential of a known service that is sent to another host blocks.
func findSentSecret(text []byte, at int) (string, string) {
	command := wholeCommand(text, at)
	var hosts []string
	code, detail := "", ""
	for _, m := range variable().FindAllSubmatchIndex(command, -1) {
		name := string(command[m[2]:m[3]])
		if !isSecretName(name) {
			continue
		}
		if hosts == nil {
			hosts = hostsOf(command)
		}
		switch {
		case isForeign(name, hosts):
			return "scan.command.env_exfil", "$" + name
		case code == "scan.command.env_sent":
		case header().Match(command[:m[0]]), len(hosts) == 0, namesHost(name, hosts):
			code, detail = "scan.command.env_used", "$"+name
		default:
			code, detail = "scan.command.env_sent", "$"+name
		}
	}
	return code, detail
}

// isSecretName reports whether the name of a variable is that of a secret. Lower-case names are variables of the script.
func isSecretName(name string) bool {
	return len(name) <= 64 && slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// hostsOf returns the hosts in a command, never nil.
func hostsOf(command []byte) []string {
	hosts := []string{}
	for _, m := range urlHost().FindAllSubmatch(command, -1) {
		hosts = append(hosts, strings.ToLower(string(m[1])))
	}
	return hosts
}

// isForeign reports whether a credential is for a known service and none of the hosts is of it. A request to the service
// itself can have another URL in its body.
func isForeign(name string, hosts []string) bool {
	for _, o := range owners {
		if !strings.HasPrefix(name, o.variable) || len(hosts) == 0 {
			continue
		}
		return !slices.ContainsFunc(hosts, func(host string) bool {
			return isLocal(host) || isWithin(host, o.domains) || isWithin(host, gateways)
		})
	}
	return false
}

// namesHost reports whether a word of a variable is in the name of a host, as ACME of ACME_API_KEY in api.acme.com.
func namesHost(name string, hosts []string) bool {
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		ours := len(word) > 3 && !slices.Contains(secretWords, strings.ToUpper(word))
		if ours && slices.ContainsFunc(hosts, func(host string) bool { return strings.Contains(host, word) }) {
			return true
		}
	}
	return false
}

func isLocal(host string) bool { return host == "localhost" || strings.HasPrefix(host, "127.") }

// hostOf returns the host of a URL for a message, "" if it cannot be shown.
func hostOf(address string) string {
	m := urlHost().FindStringSubmatch(address + " ")
	if m == nil {
		return ""
	}
	return m[1]
}

// own has the names of a skill's vendor, as its SKILL.md states them. An installer from a domain of the vendor is a warning.
type own struct {
	domains []string // of the homepage and the repository
	names   []string // of the skill, its author and the owner of its repository
	vendor  string   // the first word of the name of the skill
}

var (
	ownFields = []string{"name", "author", "owner", "publisher", "vendor", "organization", "homepage", "website", "url", "repository", "repo", "source"}
	notAlnum  = compile(`[^a-z0-9]+`)
)

// minName is the least length of a name that identifies a vendor.
const minName = 4

// codeHosts serve the files of every user, below the name of the user.
var codeHosts = []string{"github.com", "githubusercontent.com", "gitlab.com", "bitbucket.org", "codeberg.org"}

// ownOf reads the front matter of a SKILL.md.
func ownOf(text []byte) own {
	var o own
	front, ok := strings.CutPrefix(string(text), "---")
	front, _, closed := strings.Cut(front, "\n---")
	if !ok || !closed {
		return o
	}
	for field := range strings.FieldsFuncSeq(front, func(r rune) bool { return strings.ContainsRune("\n{},", r) }) {
		key, value, _ := strings.Cut(field, ":")
		key, value = strings.ToLower(strings.Trim(key, " \t\"'-")), strings.Trim(value, " \t\r\"'")
		if !slices.Contains(ownFields, key) {
			continue
		}
		value, _, _ = strings.Cut(value, " <")
		host := strings.ToLower(hostOf(value))
		switch {
		case isWithin(host, codeHosts):
			o.names = append(o.names, userOf(value))
		case host != "":
			o.domains = append(o.domains, domainOf(host))
		case key == "name" && o.vendor == "":
			o.names = append(o.names, plainName(value))
			vendor, _, _ := strings.Cut(strings.ToLower(value), "-")
			o.vendor = plainName(vendor)
		case key != "name":
			o.names = append(o.names, plainName(value))
		}
	}
	o.domains = slices.DeleteFunc(o.domains, func(d string) bool { return d == "" })
	o.names = slices.DeleteFunc(o.names, func(n string) bool { return len(n) < minName })
	return o
}

// owns reports whether an address, by https, is of a domain or an account of the vendor.
func (o own) owns(address string) bool {
	host := strings.ToLower(hostOf(address))
	if !strings.HasPrefix(address, "https://") || astray().MatchString(address) {
		return false
	}
	if isWithin(host, codeHosts) {
		return o.isNamed(userOf(address))
	}
	domain := domainOf(host)
	if domain == "" {
		return false
	}
	label, _, _ := strings.Cut(domain, ".")
	label = plainName(label)
	return slices.Contains(o.domains, domain) || o.isNamed(label) || slices.ContainsFunc(o.names, func(n string) bool { return strings.Contains(label, n) })
}

func (o own) isNamed(name string) bool {
	return len(name) >= minName && (name == o.vendor || slices.Contains(o.names, name))
}

func plainName(s string) string {
	return string(notAlnum().ReplaceAll([]byte(strings.ToLower(s)), nil))
}

// userOf returns the name of the user in an address below [codeHosts].
func userOf(address string) string {
	return plainName(strings.SplitN(address+"///", "/", 5)[3])
}

// domainOf returns the domain that is registered for a host, "" for an address or a suffix that is shared.
func domainOf(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil || net.ParseIP(host) != nil {
		return ""
	}
	return domain
}
