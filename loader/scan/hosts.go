package scan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// installers are the beginnings of addresses from which well-known projects tell people to run an installer. Each is on a
// host where nobody else can put a file, or names the project, or the file, on a shared one.
var installers = []string{
	"aka.ms/", "aspire.dev/install", "astral.sh/", "bootstrap.pypa.io/", "bun.com/install",
	"bun.sh/install", "chocolatey.org/install.ps1", "claude.ai/install.", "community.chocolatey.org/install.ps1", "cli.doppler.com/install.sh", "cursor.com/install", "deb.nodesource.com/", "deno.land/install.sh",
	"dot.net/v1/", "fluxcd.io/install.sh", "fly.io/install.sh", "foundry.paradigm.xyz", "get.docker.com", "get.helm.sh/", "get.jetify.com/",
	"get.k3s.io", "get.pnpm.io/", "get.sdkman.io", "get.volta.sh", "golangci-lint.run/install.sh", "install.determinate.systems/",
	"install.python-poetry.org", "just.systems/install.sh", "mise.run", "nixos.org/nix/install", "ollama.com/install.sh", "pixi.sh/install.sh",
	"pyenv.run", "raw.githubusercontent.com/Homebrew/install/", "raw.githubusercontent.com/golangci/golangci-lint/",
	"raw.githubusercontent.com/helm/helm/", "raw.githubusercontent.com/k3d-io/k3d/", "raw.githubusercontent.com/nvm-sh/nvm/", "release.anza.xyz/",
	"release.solana.com/", "rpm.nodesource.com/", "run.linkerd.io/install", "sdk.cloud.google.com", "sh.rustup.rs", "starship.rs/install.sh",
	"storage.googleapis.com/cloud-samples-data/", "tailscale.com/install.sh", "taskfile.dev/install.sh",
}

// astray is in an address that leads elsewhere than it begins: to another directory, or to a commit, because GitHub shows
// those of every fork below the name of the project.
var astray = regexp.MustCompile(`\.\.|%|/[0-9a-f]{7,40}(?:/|$)`)

// isInstaller reports whether an address is one of the installers', by https.
func isInstaller(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	return ok && !astray.MatchString(rest) && slices.ContainsFunc(installers, func(known string) bool {
		after, ok := strings.CutPrefix(rest, known)
		return ok && (strings.Contains(known, "/") || after == "" || after[0] == '/')
	})
}

// owners are the domains of the services that well-known credentials are for, by the beginning of the variable that
// holds one. Hosts of such a service where anybody can put a program of their own are left out as far as they are known.
var owners = []struct {
	variable string
	domains  []string
}{
	{"GITHUB_", []string{"github.com", "githubusercontent.com", "ghcr.io", "githubcopilot.com", "models.inference.ai.azure.com"}},
	{"GH_", []string{"github.com", "githubusercontent.com", "ghcr.io", "githubcopilot.com", "models.inference.ai.azure.com"}},
	{"AWS_", []string{"amazonaws.com", "aws.amazon.com", "api.aws"}},
	{"OPENAI_", []string{"openai.com", "openai.azure.com"}},
	{"ANTHROPIC_", []string{"anthropic.com", "claude.ai", "claude.com"}},
	{"GEMINI_", []string{"googleapis.com"}},
	{"GOOGLE_", []string{"googleapis.com", "accounts.google.com", "www.google.com"}},
	{"SLACK_", []string{"slack.com"}},
	{"STRIPE_", []string{"stripe.com"}},
	{"NPM_", []string{"npmjs.org", "npmjs.com"}},
	{"HF_", []string{"huggingface.co", "hf.co"}},
	{"CLOUDFLARE_", []string{"cloudflare.com"}},
	{"DISCORD_", []string{"discord.com", "discordapp.com"}},
	{"TELEGRAM_", []string{"telegram.org"}},
	{"NOTION_", []string{"notion.com", "notion.so"}},
}

// gateways are the domains of services that pass requests on to many providers. They are sent the keys of all of them.
var gateways = []string{
	"gateway.ai.cloudflare.com", "gateway.ai.vercel.com", "ai-gateway.vercel.sh", "openrouter.ai", "api.portkey.ai", "oai.helicone.ai",
	"anthropic.helicone.ai", "gateway.helicone.ai", "router.huggingface.co", "gateway.braintrust.dev", "api.braintrust.dev", "api.keywordsai.co",
	"gateway.truefoundry.ai", "gateway.requesty.ai", "router.requesty.ai",
}

// isWithin reports whether a host is one of the domains, or below one.
func isWithin(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

var (
	url      = regexp.MustCompile(`https?://[^\s"'` + "`" + `<>|\\)]+`)
	bareHost = regexp.MustCompile(`(?:^|[\s"'])(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?:[/:\s"']|$)`)
	urlHost  = regexp.MustCompile(`https?://(?:[^\s/@"']{0,100}@)?([A-Za-z0-9.-]+)([:/?#\s"'` + "`" + `\\)]|$)`)
	variable = regexp.MustCompile(`\$\{?([A-Za-z][A-Za-z0-9_]*)`)
	header   = regexp.MustCompile(`(?:-H|--header|-u|--user|--oauth2-bearer)(?:=|\s*)(?:"[^"\n]*|'[^'\n]*|\S*)$`)
)

// secretWords make the name of a variable that of a secret.
var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD"}

// findSentSecret finds a request that takes a secret of the environment along. Asking an API with the token for it is what
// many skills are for, so that alone is an information; what blocks is a credential whose service is known, and a host
// that is another one.
func findSentSecret(text []byte, at int) (string, string) {
	command := commandAt(text, at)
	if bytes.IndexByte(command, '$') < 0 {
		return "", ""
	}
	var hosts []string
	code, detail := "", ""
	for _, m := range variable.FindAllSubmatchIndex(command, -1) {
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
		case header.Match(command[:m[0]]), len(hosts) == 0, namesHost(name, hosts):
			code, detail = "scan.command.env_used", "$"+name
		default:
			code, detail = "scan.command.env_sent", "$"+name
		}
	}
	return code, detail
}

// isSecretName reports whether a variable holds a secret by its name. One in lower case is a variable of the script.
func isSecretName(name string) bool {
	return len(name) <= 64 && slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// commandAt returns a command up to its end: that of the line, a pipe, or a separator after a blank.
func commandAt(text []byte, at int) []byte {
	command := window(text, at)
	for i, c := range command {
		switch c {
		case '\n':
			if before := bytes.TrimRight(command[:i], "\r"); !bytes.HasSuffix(before, []byte(`\`)) {
				return command[:i]
			}
		case '|', ';', '&':
			if i > 0 && command[i-1] == ' ' {
				return command[:i]
			}
		}
	}
	return command
}

// hostsOf returns the hosts that a command names, never nil.
func hostsOf(command []byte) []string {
	hosts := []string{}
	for _, m := range urlHost.FindAllSubmatch(command, -1) {
		hosts = append(hosts, strings.ToLower(string(m[1])))
	}
	return hosts
}

// isForeign reports whether a credential is for a known service, and none of the hosts that are named is of that: a request
// to the service itself may well have another address in its body.
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

// namesHost reports whether a word of a variable is in the name of a host, as ACME in ACME_API_KEY is in api.acme.com.
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
