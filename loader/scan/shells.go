package scan

import (
	"bytes"
	"slices"
)

var shellProbes = []probe{
	{keys: []string{"/dev/tcp/", "/dev/udp/"}, code: "scan.command.reverse_shell_devtcp", match: isDevTCP},
	{keys: []string{"nc ", "ncat ", "netcat ", "telnet ", "openssl s_client"}, word: true, cost: 6, code: netShell, match: isNetcat},
	{keys: []string{"socat "}, word: true, cost: 10, code: netShell, pattern: socat},
}

var (
	devTCP     = anchored(`/dev/(?:tcp|udp)/([A-Za-z0-9$<{(` + "`" + `][^\s/"']*)/["']?[0-9$<{A-Za-z(]`)
	netcat     = anchored(`(?:nc|ncat|netcat)(?:\s[^\n|;]{0,60}?)?\s(?:(?:-[a-zA-Z]{0,4}e|--exec|--sh-exec)\s*["']?[\w/$.]|-[a-zA-Z]{0,4}c\s+["']?(?:/\w+)*/?(?:(?:ba|z|da|k)?sh|cmd|powershell)\b)`)
	socat      = anchored(`(?i)socat\s[^\n]{0,200}?(?:(?:exec|system):[^\n]{0,200}?(?:tcp|udp|openssl|ssl|sctp)|(?:tcp|udp|openssl|ssl|sctp)[\w-]*:[^\n]{0,200}?(?:exec|system):)`)
	fedByShell = compile(`\b(?:ba|z|da|k)?sh["']?\s+-i\b[^\n]*\|\s*$|\|\s*(?:/bin/)?(?:ba|z|da)?sh\s[^|\n]{0,20}\|\s*$`)
)

// isDevTCP reports whether a place is a connection of a shell. Connections to the local machine are excluded: scripts wait for services so.
func isDevTCP(text []byte, at int) bool {
	m := devTCP.FindSubmatch(window(text, at))
	return m != nil && !slices.Contains([]string{"localhost", "127.0.0.1", "0.0.0.0"}, string(m[1]))
}

func isNetcat(text []byte, at int) bool {
	before := lineBefore(text, at, 160)
	return netcat.Match(window(text, at)) || bytes.IndexByte(before, '|') >= 0 && fedByShell.Match(before)
}
