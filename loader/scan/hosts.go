package scan

import (
	"bytes"
	"slices"
	"strings"
)

// installers are URL prefixes from which known projects tell users to run an installer. Each entry was reviewed; nothing
// else makes an installer known, because the author chooses the text and the homepage of a skill. An entry is a host that
// serves only that, or names the file or the project on a shared host. Of URL shorteners, the individual links are listed.
var installers = []string{
	"aider.chat/install.sh", "aka.ms/InstallAzureCLIDeb", "aka.ms/install-azd.sh", "aka.ms/perfcollect",
	"ampcode.com/install.sh", "aptos.dev/scripts/install_cli.py", "artifacts-cli.infisical.com/setup.",
	"aspire.dev/install", "astral.sh/ruff/", "astral.sh/uv/", "awscli.amazonaws.com/", "bootstrap.pypa.io/",
	"bun.com/install", "bun.sh/install", "chocolatey.org/install.ps1", "claude.ai/install.", "cli.codecov.io/",
	"cli.doppler.com/install.sh", "cli.inference.sh", "cli.kiro.dev/install", "cli.moonbitlang.com/install/",
	"cli.openfaas.com", "cli.sentry.dev/install", "community.chocolatey.org/install.ps1", "cursor.com/install",
	"deb.nodesource.com/setup_", "deno.land/install.sh", "deno.land/x/install/install.", "direnv.net/install.sh",
	"dl.dagger.io/dagger/install.sh", "docs.swmansion.com/scarb/install.sh", "dot.net/v1/",
	"elan.lean-lang.org/elan-init.sh", "encore.dev/install.sh", "fluxcd.io/install.sh", "fly.io/install.",
	"fnm.vercel.app/install", "foundry.paradigm.xyz", "get-ghcup.haskell.org", "get.acme.sh", "get.arkade.dev",
	"get.chezmoi.io", "get.docker.com", "get.haskellstack.org", "get.helm.sh/", "get.jetify.com/devbox",
	"get.jetpack.io/devbox", "get.k0s.sh", "get.k3s.io", "get.nextflow.io", "get.opentofu.org/install-opentofu.",
	"get.pnpm.io/install.", "get.pulumi.com", "get.rke2.io", "get.rvm.io", "get.scoop.sh", "get.sdkman.io",
	"get.trunk.io", "get.tur.so/install.sh", "get.volta.sh", "gh.io/copilot-install",
	"github.com/block/goose/releases/", "github.com/cloudflare/cloudflared/releases/", "golangci-lint.run/install.sh",
	"hf.co/cli/install.", "install.determinate.systems/nix", "install.duckdb.org", "install.python-poetry.org",
	"istio.io/downloadIstio", "just.systems/install.sh", "lmstudio.ai/install.", "mise.run", "moonrepo.dev/install/",
	"nixos.org/nix/install", "ollama.ai/install.sh", "ollama.com/install.", "openclaw.ai/install.",
	"opencode.ai/install", "pdm-project.org/install-pdm.py", "pixi.sh/install.", "pyenv.run", "railway.com/install.sh",
	"raw.githubusercontent.com/Homebrew/install/", "raw.githubusercontent.com/Schniz/fnm/",
	"raw.githubusercontent.com/anchore/grype/", "raw.githubusercontent.com/anchore/syft/",
	"raw.githubusercontent.com/aquasecurity/trivy/", "raw.githubusercontent.com/conda-forge/miniforge/",
	"raw.githubusercontent.com/dapr/cli/", "raw.githubusercontent.com/golangci/golangci-lint/",
	"raw.githubusercontent.com/helm/helm/", "raw.githubusercontent.com/infracost/infracost/",
	"raw.githubusercontent.com/k3d-io/k3d/", "raw.githubusercontent.com/kubernetes-sigs/kustomize/",
	"raw.githubusercontent.com/kubescape/kubescape/", "raw.githubusercontent.com/nektos/act/",
	"raw.githubusercontent.com/nodetool-ai/nodetool/", "raw.githubusercontent.com/nvm-sh/nvm/",
	"raw.githubusercontent.com/ohmyzsh/ohmyzsh/", "raw.githubusercontent.com/pyenv/pyenv-installer/",
	"raw.githubusercontent.com/rhysd/actionlint/", "raw.githubusercontent.com/securego/gosec/",
	"raw.githubusercontent.com/terraform-linters/tflint/", "raw.githubusercontent.com/trufflesecurity/trufflehog/",
	"release.anza.xyz/", "release.solana.com/", "rover.apollo.dev/nix/", "rpm.nodesource.com/setup_",
	"run.linkerd.io/install", "rustwasm.github.io/wasm-pack/installer/", "sdk.cloud.google.com", "sentry.io/get-cli/",
	"setup.atuin.sh", "sh.rustup.rs", "starship.rs/install.sh", "static.rust-lang.org/rustup/",
	"storage.googleapis.com/cloud-samples-data/adc/", "tailscale.com/install.sh", "taskfile.dev/install.sh",
	"temporal.download/cli.sh", "treeline.money/install.", "wasmtime.dev/install.sh",
}

// astray is in an address that leads elsewhere than it begins: to another directory, or to a commit or a pull request, because
// GitHub shows those of every fork below the name of the project.
var astray = compile(`\.\.|%|/[0-9a-f]{7,40}(?:/|$)|/pull/`)

// isInstaller reports whether a URL is one of the installers, by https.
func isInstaller(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	return ok && !astray.MatchString(rest) && slices.ContainsFunc(installers, func(known string) bool {
		after, ok := strings.CutPrefix(rest, known)
		return ok && (strings.Contains(known, "/") || after == "" || after[0] == '/')
	})
}

// owners has the domains of services by the prefix of the variable with their credential. Hosts on which any user can run
// code are excluded as far as known.
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

// isSecretName reports whether the name of a variable is that of a secret. Lower-case names are variables of the script.
func isSecretName(name string) bool {
	return len(name) <= 64 && slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// hostsOf returns the hosts in a command, never nil.
func hostsOf(command []byte) []string {
	hosts := []string{}
	for _, m := range urlHost.FindAllSubmatch(command, -1) {
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
	m := urlHost.FindStringSubmatch(address + " ")
	if m == nil {
		return ""
	}
	return m[1]
}
