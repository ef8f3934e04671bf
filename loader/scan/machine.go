package scan

import (
	"bytes"
	"slices"
)

// machineProbes search for commands that take over the machine: containers with its files, its protection, miners, users,
// and settings of git that run a command.
var machineProbes = []probe{
	{keys: []string{"docker ", "podman ", "nerdctl "}, word: true, cost: 6, code: "scan.command.container_escape", match: isEscape},
	{keys: []string{"--unix-socket"}, code: "scan.command.container_escape", pattern: anchored(`--unix-socket[\s=]\S*(?:docker|podman|containerd)\.sock[^\n]{0,400}?(?:containers/create|/exec\b|/start\b)`)},
	{keys: []string{"hostPath", "hostPID", "privileged", "/:/"}, cost: 4, code: "scan.command.container_escape", match: isOnHost},
	{keys: []string{"release_agent", "core_pattern", "/proc/1/root", "docker.sock", "tcp://0.0.0.0", "mknod "}, cost: 3, code: "scan.command.container_escape", match: near(takesHost, 120, 160)},
	{keys: []string{"cluster-admin", "setcap ", "passwd -d", "-exec /bin/", "-exec sh", "-exec bash"}, cost: 3, code: persists, match: near(givesRoot, 200, 250)},
	{keys: []string{"cloudtrail ", "guardduty ", "securityhub ", "logging sinks ", "AmsiUtils", "amsiInitFailed", "AmsiScanBuffer", "PermitRootLogin", "PermitEmptyPasswords", "/var/log/", "journalctl ", "bash_history", "zsh_history", "bypassPermissions", "/etc/hosts", "etc\\hosts", "strict-ssl", "sslVerify", "TLS_REJECT_UNAUTHORIZED", "HTTPSVERIFY"}, anyCase: true, cost: 3, code: "scan.command.protection_off", match: near(protection, 160, 200)},
	{keys: []string{"--pool", "-pool ", "--algo", "--wallet", "-wal ", "kawpow", "randomx", "rx/0", "ethash", "etchash", "verushash", "cryptonight"}, anyCase: true, cost: 2, code: "scan.command.miner", match: near(minesAt, 200, 200)},
	{keys: []string{".Anonymous("}, code: "scan.command.miner", pattern: anchored(`\.Anonymous\(\s*["'][^"'\n]*["'][^\n]{0,80}(?:throttle|threads|\.start\()`)},
	{keys: []string{"nsenter "}, word: true, code: "scan.command.container_escape", pattern: anchored(`nsenter\s[^\n]{0,40}(?:-t\s*1\b|--target[=\s]1\b)`)},
	{keys: []string{"systemctl ", "spctl ", "csrutil ", "Set-MpPreference ", "Add-MpPreference ", "netsh ", "wevtutil ", "pkill ", "killall ", "reg add ", "launchctl ", "sc stop ", "sc config "}, word: true, anyCase: true, code: "scan.command.protection_off", pattern: off},
	{keys: []string{"iptables ", "ip6tables ", "nft ", "ufw ", "setenforce ", "SELINUX=", "systemctl ", "auditctl ", "sysctl ", "history -c", "HISTFILE", "HISTSIZE=0"}, word: true, anyCase: true, cost: 4, find: findWeak},
	{keys: []string{"stratum+", "xmrig", "minerd ", "cpuminer", "ethminer", "nbminer", "lolMiner", "phoenixminer", "xmr-stak", "teamredminer"}, anyCase: true, cost: 2, code: "scan.command.miner", pattern: miner},
	{keys: []string{"git config ", "git -c "}, cost: 6, code: persists, pattern: anchored(`git\s+(?:config|-c)\s(?:[^\n]{0,40}--(?:global|system)\s[^\n]{0,20}core\.hooksPath\s+\S|[^\n]{0,40}core\.hooksPath[\s=]+["']?` + temporary + `|[^\n]{0,60}(?:core\.(?:sshCommand|fsmonitor|pager|editor)|alias\.\w+|filter\.\w+\.\w+|diff\.external|init\.templateDir)[\s=]+["']?!?(?:` + temporary + `|[^\n]{0,120}\b` + sender + `))`)},
	{keys: []string{"git config "}, cost: 6, code: dataExfil, pattern: anchored(`git\s+config\s[^\n]{0,60}credential\.\S*helper\s+["']?!?(?:` + temporary + `|[^\n]{0,160}` + sender + `)`)},
	{keys: []string{"chmod ", "chown "}, word: true, code: removesRoot, pattern: modeOfRoot},
	{keys: []string{"kubectl delete ", "Get-PSDrive", "Format-Volume ", "Clear-Disk ", "aws s3 rb ", "git push ", "repo delete ", "dropdb ", "DROP SCHEMA ", "DROP DATABASE ", "mkfs", "wipefs ", "shred ", "dd ", "terminate-instances "}, word: true, anyCase: true, cost: 3, find: findMassRemoval},
	{keys: []string{"terraform ", "tofu ", "terragrunt ", "pulumi "}, word: true, code: "scan.command.resources_removed", pattern: anchored(`\w+\s(?:[^\n;|&]{0,60}\s)?destroy\s[^\n;|&]{0,60}?(?:-auto-approve|--yes\b|-y\b)`)},
	{keys: []string{"> /dev/sd", ">/dev/sd", "> /dev/nvme", ">/dev/nvme", "vssadmin ", "diskutil ", "cipher /w"}, anyCase: true, code: removesRoot, detail: byProgram, pattern: anchored(`(?i)(?:>\s?/dev/(?:sd[a-z]|nvme\dn\d)\b|vssadmin\s+delete\s+shadows|diskutil\s+(?:eraseDisk|secureErase|zeroDisk)\s|cipher\s+/w:)`)},
	{keys: []string{"openssl enc", "gpg -c", "gpg --symmetric", "gpg -e", "gpg --encrypt", "gpg --batch"}, code: removesRoot, detail: byProgram, match: follows(everyFile, 300)},
	{keys: []string{"ssh ", "ngrok ", "chisel ", "ztcp "}, word: true, cost: 3, code: netShell, pattern: anchored(`(?:ssh\s(?:[^\n;|]{0,80}?\s)?-\w*R\s*(?:[\w.*]+:)?\d+:(?:localhost|127\.0\.0\.1):22\b|ngrok\s+tcp\s+22\b|chisel\s+client\s+[^\n]{0,80}R:|ztcp\s+\S+\s+\d)`)},
	{keys: []string{"useradd ", "adduser ", "net user ", "dscl ", "sysadminctl ", ":0:0:"}, cost: 4, code: persists, pattern: anchored(`(?s)(?:(?:useradd|adduser)\s[^\n;|]{0,100}?(?:-\w*o\w*\s|-u\s*0\b|--uid[=\s]0\b|-g\s*0\b)|(?:useradd|adduser)\s.{0,200}?(?:(?:usermod|gpasswd)\s[^\n;|]{0,60}?(?:sudo|wheel|admin)\b|chpasswd|NOPASSWD)|net\s+user\s.{0,200}?localgroup\s+administrators\s|dscl\s[^\n]{0,80}UniqueID\s+0|sysadminctl\s[^\n]{0,120}-admin|:0:0:[^\n]{0,80}>>?\s*["']?/etc/(?:passwd|shadow))`)},
}

const (
	// temporary is a path that programs hide in; sender is a program that connects to a host.
	firewall = `(?i:ip6?tables\s+(?:-t\s+\w+\s+)?(?:-F|--flush|-X\b|-P\s+INPUT\s+ACCEPT)|nft\s+flush\s+ruleset|ufw\s+(?:--force\s+)?(?:disable|reset)|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,30}?(?:firewalld|ufw|nftables)(?:\.service)?)`
	records  = `(?i:setenforce\s+(?:0|permissive)|SELINUX=(?:disabled|permissive)|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,30}?(?:apparmor|rsyslog|fail2ban)(?:\.service)?|auditctl\s+-[eD]|sysctl\s[^\n]{0,20}(?:randomize_va_space=0|ptrace_scope=0)|` +
		`history\s+-c|HISTFILE(?:=/dev/null|=["']{2}|=?\s*(?:$|[;&\n]))|HISTSIZE=0)`
	algorithms = `\b(?:kawpow|randomx|rx/0|etc?hash|verushash|cryptonight)\b`
	temporary  = `(?:/tmp/|/dev/shm/|/var/tmp/|(?:~|\$HOME)?/\S*/\.[\w-]+\s*["']?(?:\s|$)|~/\.(?:cache|local|config)/\.)`
	sender     = `(?:curl|wget|nc|ncat|netcat|socat|/dev/tcp|https?:/)`
)

var (
	containerRun  = anchored(`\w+\s(?:[^\n|;&]{0,80}?\s)?(?:run|create|exec)\s`)
	hostRoot      = compile(`\s(?:-v|--volume)[\s=]*["']?/:/[\w/]*(?::rw)?["']?\s|(?:src|source)=/,`)
	hostFiles     = compile(`(?:\s(?:-v|--volume)[\s=]*|src=|source=)["']?(?:/|/etc|/root|~|\$HOME|\$\{HOME\}|/home|/proc|/dev|/var/run)/?["']?(?::|,)`)
	hostSpace     = compile(`\s--(?:pid|ipc|userns)[=\s]host|\s--cap-add[=\s](?:ALL|SYS_ADMIN|SYS_MODULE)|\s--device[=\s]/dev/(?:sd|nvme|mem)`)
	readOnlyMount = compile(`\s(?:-v|--volume)[\s=]*["']?/[^\s"':]*:[^\s"':]+:ro\b\S*`)
	hostPath      = compile(`hostPath["']?\s*:\s*\{?\s*["']?path["']?\s*:\s*["']?/["']?\s*(?:[\n,}]|$)|["'\s]/:/[\w/]+["']?(?:[\s,\]]|$)`)
	readOnly      = compile(`readOnly["']?\s*:\s*true`)
	hostPID       = compile(`hostPID["']?\s*:\s*true|\bpid["']?\s*:\s*["']?host`)
	privilegedPod = compile(`privileged["']?\s*:\s*true`)
	privileged    = compile(`\s--privileged\b`)
	entersRoot    = compile(`\bchroot\s+/\w+|\bnsenter\b`)
	engineMount   = compile(`(?:-v|--volume|src=|source=)[\s=]*["']?\S*(?:docker|containerd|podman)\.sock\S*(.*)`)
	foreignImage  = compile(`\s[\w.-]+/[\w./-]+`)
	// managers are images whose purpose is to manage the engine, so that they get its socket.
	managers = compile(`/(?:portainer|traefik|watchtower|dozzle|lazydocker|ctop|netdata|cadvisor|dive|trivy|grype|syft|jenkins|gitlab-runner|localstack|diun|autoheal|nginx-proxy|docker-gen|telegraf|promtail|docker-socket-proxy|renovate|k3d)`)

	// off switches the protection of the machine off. Administrators do what is in weak, so that alone it is a warning.
	off = anchored(`(?i)(?:spctl\s+--(?:master|global)-disable|csrutil\s+disable|(?:Set|Add)-MpPreference\s[^\n]{0,80}?(?:-Disable\w+\s+(?:\$true|1)|-Exclusion\w+\s)|netsh\s+(?:advfirewall\s+set\s+\w+\s+state\s+off|firewall\s+set\s+opmode\s+disable)|` +
		`(?:(?:pkill|killall|launchctl\s+(?:unload|bootout|remove))\s[^\n;]{0,60}?|systemctl\s+(?:[\w-]+\s+)*?(?:stop|disable|mask)\s[^\n;]{0,40}?)(?:falcon|crowdstrike|osquery|auditd|sentinel|clamav|clamd|defender|mdatp|wazuh|carbonblack)|` +
		`wevtutil\s+cl\b|reg\s+add\s[^\n]{0,120}?(?:DisableAntiSpyware|EnableLUA|DisableRealtimeMonitoring)|sc\s+(?:stop|config)\s+(?:WinDefend|wuauserv|Sense))`)
	// minesAt is the host of a pool with a wallet or an algorithm, whatever program gets them.
	minesAt = compile(`(?i)[\w-]\.[a-z]{2,}:\d{4,5}\b[^\n]{0,160}(?:--?wal(?:let)?[\s=]|--?algo(?:rithm)?[\s=]|--coin[\s=]|"algo"|` + algorithms + `)|(?:--?wal(?:let)?[\s=]|--?algo(?:rithm)?[\s=]|--coin[\s=]|"algo"|` + algorithms + `).{0,160}[\w-]\.[a-z]{2,}:\d{4,5}\b`)
	// takesHost leaves a container by the kernel, the engine or a disk; givesRoot gives root to others than its owner.
	takesHost = compile(`>\s*["']?\S*release_agent|\|/(?:tmp|home|root|dev/shm|var/tmp)/\S*[^\n]{0,60}core_pattern|core_pattern=["']?\|\s*/(?:tmp|home|root|dev/shm|var/tmp)/|(?:chroot|cp\s\S+|>>?|tee(?:\s-a)?|mv\s\S+)\s+/proc/1/root|(?i:tcp4?-l\w*:\d)[^\n]{0,80}docker\.sock|docker\.sock[^\n]{0,80}(?i:tcp4?-l\w*:\d)|(?:-H[\s=]*|--host[\s=]|hosts["']?\s*:\s*\[[^\]]{0,80})["']?tcp://0\.0\.0\.0:2375|mknod\s+\S+\s+b\s+(?:8|202|25[239])\s`)
	givesRoot = compile(`(?s)cluster-admin\b.{0,200}system:(?:anonymous|unauthenticated|authenticated)|system:(?:anonymous|unauthenticated|authenticated)\b.{0,200}cluster-admin|setcap\s+\S*cap_(?:setuid|setgid|sys_admin|sys_ptrace|sys_module|dac_override|dac_read_search)\S*\s+\S*/(?:python|perl|ruby|node|php|(?:ba)?sh\b|gdb|vim|tar\b|find\b)|passwd\s+-d\s+root|find\s[^\n]{0,120}-exec\s+(?:/bin/)?(?:ba|da|z)?sh(?:\s+-[ip])?\s+\\?;`)
	// protection is what is recorded or checked for the whole machine or account, and switched off or removed.
	protection = compile(`(?i)(?:cloudtrail\s+(?:stop-logging|delete-trail)|guardduty\s+delete-|securityhub\s+disable-|logging\s+sinks\s+delete)\b|amsi(?:Utils|InitFailed|ScanBuffer)[^\n]{0,160}(?:SetValue|VirtualProtect|Copy\()|(?:sed\s+-i|>>|tee|echo|printf)[^\n]{0,120}Permit(?:RootLogin|EmptyPasswords)\s+yes|` +
		`(?:[^>&]>|tee|truncate\s+(?:-s\s*|--size[\s=])0|rm\s+-\w+|shred(?:\s-\S+)*|ln\s+-\w+\s+/dev/null)\s*["']?/var/log/(?:auth|secure|[wb]tmp|lastlog|faillog|audit|\*|\$)|ln\s+-\w+\s+/dev/null\s+\S*_history|--vacuum-(?:time=\d{1,2}s|size=\d{1,2}K?)\b|` +
		`(?:>|tee|writeFile\w*\(|write_text|json\.dump)[^\n]{0,60}\.claude/settings[^\n]*(?s:.{0,160})bypassPermissions|bypassPermissions[^\n]{0,120}(?:>|tee|writeFile\w*\()[^\n]{0,60}\.claude/settings|` +
		`(?:0\.0\.0\.0|127\.0\.0\.1)\s[^\n>|]{0,120}(?:update|security|defender|clamav|crowdstrike|sentinel|virustotal|malware|ocsp)[^\n]{0,80}etc[/\\]hosts|(?:npm|yarn|pnpm)\s+config\s+set\s+(?:-g\s+)?strict-ssl[\s=]+false|git\s+config\s+--(?:global|system)\s+http\.sslVerify[\s=]+(?:false|0)|(?:TLS_REJECT_UNAUTHORIZED|HTTPSVERIFY)=["']?0[^\n]{0,80}(?:>>|tee)\s|setx\s+NODE_TLS_REJECT`)
	weak  = anchored(firewall + `|` + records)
	both  = anchored(`(?s)(?:` + firewall + `.{1,200}?[\s;&]` + records + `|` + records + `.{1,200}?[\s;&](?:` + firewall + `|` + records + `))`)
	miner = anchored(`(?i)(?:stratum\+(?:tcp|ssl|tls)://[\w$<{.]|(?:xmrig|minerd|cpuminer\S*|ethminer|nbminer|lolminer|phoenixminer|xmr-stak|teamredminer)(?:\.exe)?["']?\s(?:[^\n]{0,200}?\s)?(?:-o|--url|--pool|-pool|-u|--user|--algo|-a|-P|--coin|--donate-level)[\s=])`)

	modeOfRoot = anchored(`(?:chmod\s+(?:-\w+\s+)*-\w*R\w*\s+(?:-\w+\s+)*(?:0?000|0?777|a[-=+]\w*|ugo[-=+]\w*|[ugo]*-[rwx]+)|chown\s+(?:-\w+\s+)*-\w*R\w*\s+(?:-\w+\s+)*[\w:.-]+)\s+(?:/|~|\$HOME|/etc|/usr|/bin|/home)/?\*?(?:[\s;&|"'` + "`" + `]|$)`)
	everyFile  = compile(`\bfind\s+["']?(?:/|~|\$HOME|\$\{HOME\}|/home|/Users)[^\s/]*/?["']?\s`)
	wholeHome  = compile(`(?:^|[\s"'=(])(?:~|\$HOME|\$\{HOME\}|/home(?:/[\w$]+)?|/root|/Users(?:/[\w$]+)?)/?(?:(?:Documents|Desktop|Pictures|Downloads)/?)?\*?(?:["'\s)]|$)`)
)

var (
	// removesAll removes everything of its kind; eachOf a list are the commands for each of all.
	removesAll  = anchored(`(?i)(?:kubectl\s+delete\s+(?:ns|namespaces?|nodes?|pv|crds?)\s[^\n;|]{0,60}?--all\b|kubectl\s+delete\s[^\n;|]{0,80}?(?:-A|--all-namespaces)\s[^\n;|]{0,40}?--all\b|kubectl\s+delete\s[^\n;|]{0,80}?--all\s[^\n;|]{0,40}?(?:-A|--all-namespaces)\b|Get-PSDrive[^\n]{0,160}Remove-Item\s|(?:Format-Volume|Clear-Disk)\s[^\n]{0,80}(?:-Confirm:\$false|-Force))`)
	forEach     = compile(`(?i)(?:\bin\s+(?:\$\(|` + "`" + `)[^\n]{0,120}?(?:s3 ls|s3api list-buckets|repo list|psql|show databases|lsblk|describe-)|\bin\s+/dev/(?:sd|nvme|hd|vd|disk)|(?:s3 ls|repo list|show databases|lsblk|pg_database)[^\n]{0,120}(?:xargs|while\s+read|parallel))`)
	emptiesRepo = compile(`(?:git\s+init|--orphan|rm\s+-rf\s+\.git|commit[^\n]{0,20}--allow-empty)`)
	overwrites  = anchored(`git\s+push\s[^\n]{0,80}(?:--mirror|--all|--prune)`)
	production  = compile(`(?i)(?:\b|_)prod(?:uction)?(?:\b|_)[^\n]{0,120}$`)
	removesOne  = compile(`(?i)^(?:aws s3 rb\s[^\n]{0,80}--force|drop (?:schema|database)\s|dropdb\s)`)
)

// findMassRemoval finds the removal of all data of a kind, for each of a list, or of production; that of one is a warning.
func findMassRemoval(text []byte, at int) (string, string) {
	here, before := window(text, at), text[max(0, at-300):at]
	switch {
	case removesAll().Match(here), forEach().Match(before), overwrites().Match(here) && emptiesRepo().Match(before), removesOne().Match(here) && production().Match(before):
		return removesRoot, ""
	case removesOne().Match(here) && !bytes.Contains(head(here, 80), []byte("test")):
		return "scan.command.resources_removed", ""
	}
	return "", ""
}

func isEscape(text []byte, at int) bool {
	if !containerRun().Match(window(text, at)) {
		return false
	}
	command, rest := wholeCommand(text, at), head(window(text, at), 300)
	if m := engineMount().FindSubmatch(command); m != nil {
		return foreignImage().Match(m[1]) && !managers().Match(m[1])
	}
	command = readOnlyMount().ReplaceAll(command, []byte(" "))
	all, space := privileged().Match(command), hostSpace().Match(command)
	return hostRoot().Match(command) || hostFiles().Match(command) && (all || space) || (all || space) && entersRoot().Match(rest) || all && space
}

// isOnHost reports whether a manifest gives a container the files of the machine, whatever the order of its keys.
func isOnHost(text []byte, at int) bool {
	near := text[max(0, at-reach):min(len(text), at+reach)]
	root, all := hostPath().Match(near), privilegedPod().Match(near)
	return root && (all || !readOnly().Match(near)) || all && hostPID().Match(near) && entersRoot().Match(near)
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
	return m != nil && !slices.Contains([]string{"localhost", "127.0.0.1", "0.0.0.0", "HOST", "IP"}, string(m[1]))
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
