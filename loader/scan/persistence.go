package scan

import (
	"bytes"
	"slices"
)

const persists = "scan.command.persistence"

var persistenceProbes = []probe{
	{keys: []string{"authorized_keys"}, cost: 6, code: persists, match: isAuthorizedKey},
	{keys: []string{".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", ".zshenv", "/etc/profile", "config.fish", "/etc/rc.local", "/etc/cron", "/var/spool/cron", "LaunchAgents/", "LaunchDaemons/", "/etc/systemd/system/", "systemd/user/", ".config/autostart/", ".git/hooks/", "/etc/ld.so.preload", "Startup\\", ".claude/settings", ".xprofile", ".xinitrc", "sitecustomize.py", "usercustomize.py", ".pth\"", ".pth'", ".vimrc", "init.vim", "init.lua", ".inputrc", ".tmux.conf", ".emacs", "/etc/udev/rules.d", "/etc/environment", "/etc/update-motd.d", "/etc/xdg/autostart", "/etc/init.d/", "/etc/pam.d/", ".ssh/rc"}, cost: 8, code: persists, match: isStartupFile},
	{keys: []string{"| crontab", "|crontab"}, cost: 10, code: persists, match: follows(suspects, 400)},
	{keys: []string{"ExecStart=", "PROMPT_COMMAND=", "alias "}, cost: 6, code: persists, pattern: anchored(`ExecStart=[-@]?(?:["']?(?:/tmp/|/dev/shm/|/var/tmp/|\S*/\.[\w-]+(?:\s|$))|\S*(?:ba|z)?sh\s+-c\s[^\n]{0,120}?(?:curl|wget|/dev/tcp/|base64\s+-d|\bnc\s))|PROMPT_COMMAND=["'][^\n]{0,120}?(?:curl|wget|\bnc\s|/dev/tcp/|/tmp/)|alias\s+(?:sudo|su|ls|cd|ssh|git)=["'][^\n]{0,120}?(?:curl\s|wget\s|\bnc\s|/dev/tcp/|/tmp/)`)},
	{keys: []string{"NOPASSWD"}, code: persists, pattern: sudoers},
	{keys: []string{"chmod "}, word: true, cost: 4, code: persists, match: isSetuid},
	{keys: []string{"install "}, word: true, code: persists, pattern: anchored(`install\s[^\n;&|]{0,80}?(?:-m\s*|--mode[=\s])(?:0?[2467]\d{3}|\S*u[+=]\S*s)\S*\s[^\n;&|]{0,60}?/(?:ba|z|da|k|a)?sh\s`)},
	{keys: []string{"schtasks ", "reg add ", "New-ItemProperty ", "Set-ItemProperty "}, code: persists, pattern: anchored(`(?i)(?:schtasks\s[^\n]{0,40}/create[^\n]{0,300}?(?:powershell|mshta|https?://|\\temp\\|\\appdata\\|%temp%|%appdata%)|(?:reg\s+add|(?:New|Set)-ItemProperty)\s[^\n]{0,120}?\\?CurrentVersion\\?Run[^\n]{0,300}?(?:powershell|mshta|https?://|\\temp\\|\\appdata\\|%temp%|%appdata%|\$env:(?:temp|appdata)))`)},
}

var (
	publicKey = compile(`(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+)\s+AAAA[A-Za-z0-9+/]{8,}|(?:curl|wget)\s[^\n|;]{0,200}$`)
	appends   = compile(`(?:>>?|\s(?:-\w*[oO]|--output(?:-document)?)[\s=]|\btee\s+(?:-a\s+)?|(?:open|appendFileSync|writeFileSync|Add-Content|Out-File)\b[^\n]{0,40})\s*["'(]*[\w~/$.{}:\\-]*$`)
	suspects  = compile(`(?:curl|wget)\s[^\n]{0,200}(?:\||-\w*[oOdFT]\b|--data|--upload|>|\))|/dev/tcp/|\bn(?:c|cat)\s+\S+\s+\d|base64\s+(?:-d|-D|--decode)|(?:^|[\s"'=(])(?:/tmp/|/dev/shm/|/var/tmp/)[\w.]|\bnohup\s|\b(?:python3?|perl|ruby)\s+-[ce]|\b(?:ba|z)?sh\s+-i\b|alias\s+(?:sudo|su|ls|cd|ssh|git)=|DownloadString|\biex\b|\bimport\s+(?:os|subprocess|base64|urllib|socket)\b|\b(?:system|popen|exec)\(`)

	sudoers     = anchored(`NOPASSWD:\s*ALL["']?\s*(?:>>?|\|\s*(?:sudo\s+)?tee\b)[^\n]{0,40}/etc/sudoers`)
	setsShell   = anchored(`chmod\s+(?:-\w+\s+)*(?:[ugao]*\+[rwx]*s|[2467]\d{3})\s+["']?(?:\S*/)?(?:ba|z|da|k)?sh(?:[\s;&|"']|$)`)
	setsBit     = anchored(`chmod\s+(?:-\w+\s+)*(?:[ugao]*\+[rwx]*s[rwx]*|0?[2467]\d{3}|u=[rwx]*s[rwx]*\S*)\s+["']?([^\s;&|"')]+)`)
	shellCopied = compile(`(?:^|[\s;&|("'` + "`" + `])(?:cp|mv|ln|install|dd|cat)\s[^\n;&|]{0,80}?(?:/|which\s+|-v\s+)(?:ba|z|da|k|a)?sh[)` + "`" + `"']*\s+(?:>\s*|of=)?["']?([^\s;&|"')]+)`)
	interpreter = compile(`^(?:/usr)?(?:/local)?/bin/(?:python[\d.]*|perl|ruby|node|php|vim?|find|env|awk|busybox)$`)
)

func isAuthorizedKey(text []byte, at int) bool {
	before := lineBefore(text, at, 400)
	if !appends().Match(before) {
		return false
	}
	after := text[at:min(len(text), at+300)]
	return publicKey().Match(before) || publicKey().Match(bytes.TrimRight(before, ` >~/.sh"'$HOMEtea-|`)) || keyAfter().Match(after)
}

var keyAfter = anchored(`(?s).{0,80}?(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+)\s+AAAA[A-Za-z0-9+/]{8,}`)

// isStartupFile reports whether a place is a command that fetches, hides or connects to the network and is written to a file of a login, a
// timer or a service.
func isStartupFile(text []byte, at int) bool {
	before := lineBefore(text, at, 400)
	if !appends().Match(before) {
		return false
	}
	if bytes.HasPrefix(text[at:], []byte("/etc/ld.so.preload")) {
		return true
	}
	after := text[at:min(len(text), at+300)]
	if end := bytes.IndexByte(after, '\n'); end >= 0 && !bytes.Contains(after[:end], []byte("<<")) && bytes.IndexByte(after[:end], '(') < 0 && bytes.IndexByte(after[:end], ',') < 0 {
		after = after[:end]
	}
	return suspects().Match(before) || suspects().Match(after)
}

func isSetuid(text []byte, at int) bool {
	here := window(text, at)
	if setsShell().Match(here) {
		return true
	}
	m := setsBit().FindSubmatch(here)
	return m != nil && (interpreter().Match(m[1]) || slices.ContainsFunc(shellCopied().FindAllSubmatch(text[max(0, at-300):at], -1), func(copied [][]byte) bool {
		return bytes.Equal(copied[1], m[1])
	}))
}
