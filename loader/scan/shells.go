package scan

import (
	"bytes"
	"regexp"
)

// shellProbes search for shells that are connected to the network.
var shellProbes = []probe{
	{keys: []string{"/dev/tcp/", "/dev/udp/"}, find: findDevTCP},
	{keys: []string{"nc ", "ncat ", "netcat ", "telnet ", "openssl s_client"}, word: true, cost: 6, find: findNetcat},
	{keys: []string{"socat "}, word: true, cost: 10, find: matching(netShell, socat)},
}

var (
	devTCP     = anchored(`/dev/(?:tcp|udp)/([A-Za-z0-9$<{(` + "`" + `][^\s/"']*)/["']?[0-9$<{A-Za-z(]`)
	netcat     = anchored(`(?:nc|ncat|netcat)(?:\s[^\n|;]{0,60}?)?\s(?:(?:-[a-zA-Z]{0,4}e|--exec|--sh-exec)\s*["']?[\w/$.]|-[a-zA-Z]{0,4}c\s+["']?(?:/\w+)*/?(?:(?:ba|z|da|k)?sh|cmd|powershell)\b)`)
	socat      = anchored(`(?i)socat\s[^\n]{0,200}?(?:(?:exec|system):[^\n]{0,200}?(?:tcp|udp|openssl|ssl|sctp)|(?:tcp|udp|openssl|ssl|sctp)[\w-]*:[^\n]{0,200}?(?:exec|system):)`)
	fedByShell = regexp.MustCompile(`\b(?:ba|z|da|k)?sh["']?\s+-i\b[^\n]*\|\s*$|\|\s*(?:/bin/)?(?:ba|z|da)?sh\s[^|\n]{0,20}\|\s*$`)
)

// findDevTCP finds a connection of a shell. Connections to the local machine are excluded: scripts wait for services so.
func findDevTCP(text []byte, at int) (string, string) {
	m := devTCP.FindSubmatch(window(text, at))
	if m == nil {
		return "", ""
	}
	switch string(m[1]) {
	case "localhost", "127.0.0.1", "0.0.0.0":
		return "", ""
	}
	return "scan.command.reverse_shell_devtcp", ""
}

// findNetcat finds a program that nc connects to the network, also by pipes.
func findNetcat(text []byte, at int) (string, string) {
	before := lineBefore(text, at, 160)
	if netcat.Match(window(text, at)) || bytes.IndexByte(before, '|') >= 0 && fedByShell.Match(before) {
		return netShell, ""
	}
	return "", ""
}
