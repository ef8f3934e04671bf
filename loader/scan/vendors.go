package scan

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// shared are hosts where anybody can put a file.
var shared = []string{
	"pastebin.com", "paste.ee", "rentry.co", "hastebin.com", "ghostbin.com", "termbin.com", "transfer.sh", "file.io", "0x0.st", "temp.sh", "catbox.moe",
	"gist.githubusercontent.com", "gist.github.com", "bit.ly", "tinyurl.com", "t.co", "goo.gl", "is.gd", "cutt.ly", "ngrok.io", "ngrok.app", "ngrok-free.app",
	"trycloudflare.com", "loca.lt", "serveo.net", "workers.dev", "pages.dev", "vercel.app", "netlify.app", "herokuapp.com", "github.io", "gitlab.io",
	"onrender.com", "fly.dev", "web.app", "firebaseapp.com", "azurewebsites.net", "windows.net", "amazonaws.com", "cloudfront.net", "storage.googleapis.com",
	"r2.dev", "digitaloceanspaces.com", "glitch.me", "repl.co", "replit.app", "discordapp.com", "discordapp.net", "dropbox.com", "dropboxusercontent.com",
	"drive.google.com", "docs.google.com", "mediafire.com", "mega.nz", "duckdns.org", "webhook.site", "requestbin.com", "pipedream.net", "oast.fun", "interact.sh",
}

// common are words that say nothing about a vendor when they are the name of its host, because any text has them.
var common = []string{
	"example", "install", "installer", "setup", "update", "updates", "download", "downloads", "tool", "tools", "script", "scripts", "agent", "agents", "skill",
	"skills", "file", "files", "static", "package", "packages", "code", "shell", "test", "server", "service", "cloud", "data", "attacker", "evil", "malicious",
}

var (
	installPath = regexp.MustCompile(`(?i)^(?:get|install|installer|setup|bootstrap|cli|[\w.-]*(?:install|installer|setup|bootstrap))(?:[-_][\w.-]*)?(?:\.(?:sh|bash|ps1|py))?$`)
	installHost = []string{"get", "cli", "install", "installer", "setup", "sh", "dl"}
)

// isVendor reports whether an address looks like a vendor's own installer: by https, from a host that is not shared, under
// the name of an installer, and from a host that begins with "get." or belongs to a project that the text is about.
func (p *passages) isVendor(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	if !ok || strings.ContainsAny(rest, "@$?%{<[:") || strings.Contains(rest, "..") {
		return false
	}
	host, file, _ := strings.Cut(strings.ToLower(rest), "/")
	labels := strings.Split(host, ".")
	if _, err := netip.ParseAddr(host); err == nil || len(labels) < 2 || isWithin(host, shared) {
		return false
	}
	file = strings.TrimRight(file, "/.,;")
	last := file[strings.LastIndexByte(file, '/')+1:]
	switch host {
	case "raw.githubusercontent.com", "github.com", "gitlab.com":
		parts := strings.SplitN(file, "/", 3)
		named := len(parts) == 3 && (installPath.MatchString(last) || host == "github.com" && strings.HasPrefix(parts[2], "releases/"))
		return named && !astray.MatchString("/"+parts[2]) && (p.isAbout(parts[0]) || p.isAbout(parts[1]))
	}
	byHost := file == "" && slices.Contains(installHost, labels[0]) && len(labels) > 2
	if !byHost && !installPath.MatchString(last) {
		return false
	}
	return labels[0] == "get" && len(labels) > 2 || p.isAbout(projectOf(labels))
}

// projectOf returns the label of a host that names who it belongs to: acme in cli.acme.com and in acme.co.uk.
func projectOf(labels []string) string {
	i := len(labels) - 2
	if i > 0 && (labels[i] == "co" || labels[i] == "com" || labels[i] == "org" || labels[i] == "net") {
		i--
	}
	return labels[i]
}

// maxVendors bounds the names that are looked up in one text.
const maxVendors = 16

// isAbout reports whether a text has a name as a word outside of addresses.
func (p *passages) isAbout(name string) bool {
	if len(name) < 3 || slices.Contains(common, name) {
		return false
	}
	if about, ok := p.vendors[name]; ok || len(p.vendors) == maxVendors {
		return about
	}
	if p.lower == nil {
		p.lower = bytes.ToLower(p.text)
	}
	p.vendors[name] = hasWord(p.lower, []byte(name))
	return p.vendors[name]
}

// hasWord reports whether a text has a word outside of addresses. The ending of a host may follow, as in "inference.sh".
func hasWord(text, name []byte) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], name)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(name)
		at = end
		if start > 0 && (isWord(text[start-1]) || text[start-1] == '/' || text[start-1] == '.' || text[start-1] == '@') || end < len(text) && isWord(text[end]) {
			continue
		}
		return true
	}
}

// hostOf returns the host of an address for a message, and "" where there is none that could be shown.
func hostOf(address string) string {
	m := urlHost.FindStringSubmatch(address + " ")
	if m == nil {
		return ""
	}
	return m[1]
}
