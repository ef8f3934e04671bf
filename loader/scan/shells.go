package scan

import (
	"bytes"
	"regexp"
)

const (
	netShell    = "scan.command.reverse_shell_nc"
	scriptShell = "scan.command.reverse_shell_script"
)

// shellProbes look for shells that are handed to the network.
var shellProbes = []probe{
	{keys: []string{"/dev/tcp/", "/dev/udp/"}, find: findDevTCP},
	{keys: []string{"nc ", "ncat ", "netcat ", "telnet ", "openssl s_client"}, word: true, find: findNetcat},
	{keys: []string{"socat "}, word: true, find: matching(netShell, socat)},
	{keys: []string{"socket.socket(", "import socket", "socket(socket.", "create_connection("}, stride: 150, find: near(scriptShell, pythonShell, 1200)},
	{keys: []string{"use Socket", "IO::Socket"}, stride: 150, find: near(scriptShell, perlShell, 600)},
	{keys: []string{"TCPSocket."}, stride: 150, find: near(scriptShell, rubyShell, 400)},
	{keys: []string{"fsockopen("}, stride: 150, find: near(scriptShell, phpShell, 400)},
	{keys: []string{"net.connect(", "net.Socket(", "net.createConnection(", `require("net")`, "require('net')"}, stride: 150, find: near(scriptShell, nodeShell, 600)},
	{keys: []string{"/inet/tcp/"}, stride: 150, find: near(scriptShell, awkShell, 400)},
	{keys: []string{"Sockets.T"}, stride: 150, find: near(scriptShell, powerShell, 1200)},
	{keys: []string{`require("socket")`, "require('socket')"}, stride: 150, find: near(scriptShell, luaShell, 400)},
}

// near makes the find of a probe with a pattern over several lines.
func near(code string, re *regexp.Regexp, length int) func([]byte, int) (string, string) {
	return func(text []byte, at int) (string, string) {
		if re.Match(text[at:min(len(text), at+length)]) {
			return code, ""
		}
		return "", ""
	}
}

var (
	devTCP      = anchored(`/dev/(?:tcp|udp)/([A-Za-z0-9$<{(` + "`" + `][^\s/"']*)/["']?[0-9$<{A-Za-z(]`)
	netcat      = anchored(`(?:nc|ncat|netcat)(?:\s[^\n|;]{0,60}?)?\s(?:(?:-[a-zA-Z]{0,4}e|--exec|--sh-exec)\s*["']?[\w/$.]|-[a-zA-Z]{0,4}c\s+["']?(?:/\w+)*/?(?:(?:ba|z|da|k)?sh|cmd|powershell)\b)`)
	socat       = anchored(`(?i)socat\s[^\n]{0,200}?(?:(?:exec|system):[^\n]{0,200}?(?:tcp|udp|openssl|ssl|sctp)|(?:tcp|udp|openssl|ssl|sctp)[\w-]*:[^\n]{0,200}?(?:exec|system):)`)
	fedByShell  = regexp.MustCompile(`\b(?:ba|z|da|k)?sh["']?\s+-i\b[^\n]*\|\s*$|\|\s*(?:/bin/)?(?:ba|z|da)?sh\s[^|\n]{0,20}\|\s*$`)
	pythonShell = anchored(`(?s).{0,800}?connect(?:_ex)?\(.{0,400}?(?:dup2\(|pty\.spawn|["']/bin/(?:ba|z)?sh["']|["'](?:cmd|powershell)(?:\.exe)?["']|recv\(.{0,300}?(?:subprocess\.|os\.popen|os\.system|exec\())`)
	perlShell   = anchored(`(?s).{0,300}?(?:connect|INET).{0,300}?(?:exec|system|open)\b.{0,80}?(?:/bin/(?:ba|z)?sh|STDIN|cmd)`)
	rubyShell   = anchored(`(?s)TCPSocket\.(?:new|open).{0,200}?(?:exec|IO\.popen|/bin/(?:ba|z)?sh|spawn|Open3)`)
	phpShell    = anchored(`(?s)fsockopen\(.{0,200}?(?:exec\s*\(|proc_open|popen\s*\(|system\s*\(|passthru|/bin/(?:ba|z)?sh)`)
	nodeShell   = anchored(`(?s).{0,400}?(?:/bin/(?:ba|z)?sh|cmd\.exe|["'](?:ba|z)?sh["']|child_process).{0,400}?(?:\.pipe\(|connect\()|.{0,400}?\.pipe\([^)]{0,40}(?:stdin|sh\.)`)
	awkShell    = anchored(`(?s)/inet/tcp/.{0,200}?(?:getline|\|&)`)
	powerShell  = anchored(`(?is)Sockets\.TcpClient.{0,900}?(?:\biex\b|Invoke-Expression|cmd\.exe|powershell)`)
	luaShell    = anchored(`(?s).{0,250}?(?:tcp\(|connect\().{0,250}?(?:os\.execute|io\.popen)`)
)

// findDevTCP finds a connection of a shell. To the machine itself it is how scripts wait for a service.
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

// findNetcat finds a program that nc hands to the network, also by pipes.
func findNetcat(text []byte, at int) (string, string) {
	before := lineBefore(text, at, 160)
	if netcat.Match(window(text, at)) || bytes.IndexByte(before, '|') >= 0 && fedByShell.Match(before) {
		return netShell, ""
	}
	return "", ""
}
