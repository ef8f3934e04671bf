package scan

import (
	"bytes"
	"slices"
)

// machineProbes search for commands that take over the machine: containers with its files, its protection, miners, users,
// and settings of git that run a command.
var machineProbes = []probe{
	{keys: []string{"docker ", "podman ", "nerdctl "}, word: true, cost: 6, code: "scan.command.container_escape", match: isEscape},
	{keys: []string{"--unix-socket"}, code: "scan.command.container_escape", pattern: engineRequest},
	{keys: []string{"hostPID"}, cost: 4, code: "scan.command.container_escape", pattern: podOnHost},
	{keys: []string{"nsenter "}, word: true, code: "scan.command.container_escape", pattern: entersHost},
	{keys: []string{"systemctl ", "spctl ", "csrutil ", "Set-MpPreference ", "Add-MpPreference ", "netsh ", "wevtutil ", "pkill ", "killall ", "reg add ", "launchctl ", "sc stop ", "sc config "}, word: true, anyCase: true, code: "scan.command.protection_off", pattern: off},
	{keys: []string{"iptables ", "ip6tables ", "nft ", "ufw ", "setenforce ", "SELINUX=", "systemctl ", "auditctl ", "sysctl ", "history -c", "HISTFILE", "HISTSIZE=0"}, word: true, anyCase: true, cost: 4, find: findWeak},
	{keys: []string{"stratum+", "xmrig", "minerd ", "cpuminer", "ethminer", "nbminer", "lolMiner", "phoenixminer", "xmr-stak", "teamredminer"}, anyCase: true, cost: 2, code: "scan.command.miner", pattern: miner},
	{keys: []string{"git config ", "git -c "}, cost: 6, code: persists, pattern: gitRuns},
	{keys: []string{"git config "}, cost: 6, code: dataExfil, pattern: gitSends},
	{keys: []string{"chmod ", "chown "}, word: true, code: removesRoot, pattern: modeOfRoot},
	{keys: []string{"> /dev/sd", ">/dev/sd", "> /dev/nvme", ">/dev/nvme", "vssadmin ", "diskutil ", "cipher /w"}, anyCase: true, code: removesRoot, detail: byProgram, pattern: wipesDevice},
	{keys: []string{"openssl enc", "gpg -c", "gpg --symmetric", "gpg -e", "gpg --encrypt", "gpg --batch"}, code: removesRoot, detail: byProgram, match: follows(everyFile, 300)},
	{keys: []string{"ssh ", "ngrok ", "chisel ", "ztcp "}, word: true, cost: 3, code: netShell, pattern: tunnel},
	{keys: []string{"useradd ", "adduser ", "net user ", "dscl ", "sysadminctl ", ":0:0:"}, cost: 4, code: persists, pattern: rootUser},
}

const (
	// temporary is a path that programs hide in; sender is a program that connects to a host.
	firewall = `(?i:ip6?tables\s+(?:-t\s+\w+\s+)?(?:-F|--flush|-X\b|-P\s+INPUT\s+ACCEPT)|nft\s+flush\s+ruleset|ufw\s+(?:--force\s+)?(?:disable|reset)|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,30}?(?:firewalld|ufw|nftables)(?:\.service)?)`
	records  = `(?i:setenforce\s+(?:0|permissive)|SELINUX=(?:disabled|permissive)|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,30}?(?:apparmor|rsyslog|fail2ban)(?:\.service)?|auditctl\s+-[eD]|sysctl\s[^\n]{0,20}(?:randomize_va_space=0|ptrace_scope=0)|` +
		`history\s+-c|HISTFILE(?:=/dev/null|=["']{2}|=?\s*(?:$|[;&\n]))|HISTSIZE=0)`
	temporary = `(?:/tmp/|/dev/shm/|/var/tmp/|(?:~|\$HOME)?/\S*/\.[\w-]+\s*["']?(?:\s|$)|~/\.(?:cache|local|config)/\.)`
	sender    = `(?:curl|wget|nc|ncat|netcat|socat|/dev/tcp|https?:/)`
)

var (
	containerRun  = anchored(`\w+\s(?:[^\n|;&]{0,80}?\s)?(?:run|create|exec)\s`)
	hostRoot      = compile(`\s(?:-v|--volume)[\s=]*["']?/:/[\w/]*(?::rw)?["']?\s|(?:src|source)=/,`)
	hostFiles     = compile(`(?:\s(?:-v|--volume)[\s=]*|src=|source=)["']?(?:/|/etc|/root|~|\$HOME|\$\{HOME\}|/home|/proc|/dev|/var/run)/?["']?(?::|,)`)
	hostSpace     = compile(`\s--(?:pid|ipc|userns)[=\s]host|\s--cap-add[=\s](?:ALL|SYS_ADMIN|SYS_MODULE)|\s--device[=\s]/dev/(?:sd|nvme|mem)`)
	privileged    = compile(`\s--privileged\b`)
	entersRoot    = compile(`\bchroot\s+/\w+|\bnsenter\b`)
	engineMount   = compile(`(?:-v|--volume|src=|source=)[\s=]*["']?\S*(?:docker|containerd|podman)\.sock\S*(.*)`)
	engineRequest = anchored(`--unix-socket[\s=]\S*(?:docker|podman|containerd)\.sock[^\n]{0,400}?(?:containers/create|/exec\b|/start\b)`)
	entersHost    = anchored(`nsenter\s[^\n]{0,40}(?:-t\s*1\b|--target[=\s]1\b)`)
	podOnHost     = anchored(`(?s)hostPID["']?\s*:\s*true.{0,300}?privileged["']?\s*:\s*true.{0,300}?(?:nsenter|chroot)`)
	foreignImage  = compile(`\s[\w.-]+/[\w./-]+`)
	// managers are images whose purpose is to manage the engine, so that they get its socket.
	managers = compile(`/(?:portainer|traefik|watchtower|dozzle|lazydocker|ctop|netdata|cadvisor|dive|trivy|grype|syft|jenkins|gitlab-runner|localstack|diun|autoheal|nginx-proxy|docker-gen|telegraf|promtail|docker-socket-proxy|renovate|k3d)`)

	// off switches the protection of the machine off. Administrators do what is in weak, so that alone it is a warning.
	off = anchored(`(?i)(?:spctl\s+--(?:master|global)-disable|csrutil\s+disable|(?:Set|Add)-MpPreference\s[^\n]{0,80}?(?:-Disable\w+\s+(?:\$true|1)|-Exclusion\w+\s)|netsh\s+(?:advfirewall\s+set\s+\w+\s+state\s+off|firewall\s+set\s+opmode\s+disable)|` +
		`(?:(?:pkill|killall|launchctl\s+(?:unload|bootout|remove))\s[^\n;]{0,60}?|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,40}?)(?:falcon|crowdstrike|osquery|auditd|sentinel|clamav|clamd|defender|mdatp|wazuh|carbonblack)|` +
		`wevtutil\s+cl\b|reg\s+add\s[^\n]{0,120}?(?:DisableAntiSpyware|EnableLUA|DisableRealtimeMonitoring)|sc\s+(?:stop|config)\s+(?:WinDefend|wuauserv|Sense))`)
	weak  = anchored(firewall + `|` + records)
	both  = anchored(`(?s)(?:` + firewall + `.{1,200}?[\s;&]` + records + `|` + records + `.{1,200}?[\s;&](?:` + firewall + `|` + records + `))`)
	miner = anchored(`(?i)(?:stratum\+(?:tcp|ssl|tls)://\S|(?:xmrig|minerd|cpuminer\S*|ethminer|nbminer|lolminer|phoenixminer|xmr-stak|teamredminer)(?:\.exe)?["']?\s(?:[^\n]{0,200}?\s)?(?:-o|--url|--pool|-pool|-u|--user|--algo|-a|-P|--coin|--donate-level)[\s=])`)

	gitRuns  = anchored(`git\s+(?:config|-c)\s(?:[^\n]{0,40}--(?:global|system)\s[^\n]{0,20}core\.hooksPath\s+\S|[^\n]{0,40}core\.hooksPath[\s=]+["']?` + temporary + `|[^\n]{0,60}(?:core\.(?:sshCommand|fsmonitor|pager|editor)|alias\.\w+|filter\.\w+\.\w+|diff\.external|init\.templateDir)[\s=]+["']?!?(?:` + temporary + `|[^\n]{0,120}\b` + sender + `))`)
	gitSends = anchored(`git\s+config\s[^\n]{0,60}credential\.\S*helper\s+["']?!?(?:` + temporary + `|[^\n]{0,160}` + sender + `)`)

	modeOfRoot  = anchored(`(?:chmod\s+(?:-\w+\s+)*-\w*R\w*\s+(?:-\w+\s+)*(?:0?000|0?777|a[-=+]\w*|ugo[-=+]\w*|[ugo]*-[rwx]+)|chown\s+(?:-\w+\s+)*-\w*R\w*\s+(?:-\w+\s+)*[\w:.-]+)\s+(?:/|~|\$HOME|/etc|/usr|/bin|/home)/?\*?(?:[\s;&|"'` + "`" + `]|$)`)
	wipesDevice = anchored(`(?i)(?:>\s?/dev/(?:sd[a-z]|nvme\dn\d)\b|vssadmin\s+delete\s+shadows|diskutil\s+(?:eraseDisk|secureErase|zeroDisk)\s|cipher\s+/w:)`)
	everyFile   = compile(`\bfind\s+["']?(?:/|~|\$HOME|\$\{HOME\}|/home|/Users)[^\s/]*/?["']?\s`)
	wholeHome   = compile(`(?:^|[\s"'=(])(?:~|\$HOME|\$\{HOME\}|/home(?:/[\w$]+)?|/root|/Users(?:/[\w$]+)?)/?(?:(?:Documents|Desktop|Pictures|Downloads)/?)?\*?(?:["'\s)]|$)`)

	tunnel   = anchored(`(?:ssh\s(?:[^\n;|]{0,80}?\s)?-\w*R\s*(?:[\w.*]+:)?\d+:(?:localhost|127\.0\.0\.1):22\b|ngrok\s+tcp\s+22\b|chisel\s+client\s+[^\n]{0,80}R:|ztcp\s+\S+\s+\d)`)
	rootUser = anchored(`(?s)(?:(?:useradd|adduser)\s[^\n;|]{0,100}?(?:-\w*o\w*\s|-u\s*0\b|--uid[=\s]0\b|-g\s*0\b)|(?:useradd|adduser)\s.{0,200}?(?:(?:usermod|gpasswd)\s[^\n;|]{0,60}?(?:sudo|wheel|admin)\b|chpasswd|NOPASSWD)|net\s+user\s.{0,200}?localgroup\s+administrators\s|dscl\s[^\n]{0,80}UniqueID\s+0|sysadminctl\s[^\n]{0,120}-admin|:0:0:[^\n]{0,80}>>?\s*["']?/etc/(?:passwd|shadow))`)
)

func isEscape(text []byte, at int) bool {
	if !containerRun().Match(window(text, at)) {
		return false
	}
	command, rest := wholeCommand(text, at), head(window(text, at), 300)
	if m := engineMount().FindSubmatch(command); m != nil {
		return foreignImage().Match(m[1]) && !managers().Match(m[1])
	}
	all, space := privileged().Match(command), hostSpace().Match(command)
	return hostRoot().Match(command) || hostFiles().Match(command) && (all || space) || (all || space) && entersRoot().Match(rest) || all && space
}

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
	m := devTCP().FindSubmatch(window(text, at))
	return m != nil && !slices.Contains([]string{"localhost", "127.0.0.1", "0.0.0.0"}, string(m[1]))
}

func isNetcat(text []byte, at int) bool {
	before := lineBefore(text, at, 160)
	return netcat().Match(window(text, at)) || bytes.IndexByte(before, '|') >= 0 && fedByShell().Match(before)
}

// findWeak finds what weakens the protection of the machine; two kinds together switch it off.
func findWeak(text []byte, at int) (string, string) {
	switch here := window(text, at); {
	case !weak().Match(here):
		return "", ""
	case both().Match(here):
		return "scan.command.protection_off", ""
	}
	return "scan.command.protection_weakened", ""
}
