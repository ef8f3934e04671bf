package scan

import (
	"bytes"
	"slices"
	"strings"
)

// commandProbes search any text for commands: an agent runs commands of a document as well as scripts.
var commandProbes = slices.Concat([]probe{
	{keys: []string{"rm "}, word: true, code: removesRoot, match: isRemoveRoot},
	{keys: []string{"find "}, word: true, code: removesRoot, pattern: anchored(`find\s+(?:-[HLP]\s+)?["']?(?:/|~/?|\$\{?HOME\}?/?)["']?\s+(?:-(?:xdev|mindepth|maxdepth|type|depth|not|user)\b\s*(?:[\w-]+\s+)?)*(?:-delete\b|-exec\s+(?:sudo\s+)?(?:/bin/)?(?:rm|shred)\s)`)},
	{keys: []string{"dd ", "mkfs", "shred ", "wipefs "}, word: true, code: removesRoot, pattern: anchored(`(?:dd\s[^\n|;]{0,80}?\bif=/dev/(?:zero|u?random)\b[^\n|;]{0,80}?\bof=/dev/(?:sd[a-z]|nvme\dn\d|hd[a-z]|vd[a-z]|disk\d|xvd[a-z])|(?:mkfs(?:\.\w+)?|shred|wipefs)\s[^\n|;]{0,60}?/dev/(?:sda|nvme0n1|hda|vda|xvda|disk0)\b)`)},
	{keys: []string{"rmtree(", "rmSync(", "rmdirSync(", "rimraf(", "remove_tree(", "RemoveAll(", "remove_dir_all(", "rimraf ", "remove_entry_secure ", "rm_rf("}, code: removesRoot, detail: byProgram, pattern: anchored(`(?:rmtree|remove_tree|RemoveAll|remove_dir_all|rmSync|rmdirSync|rimraf|remove_entry_secure|rm_rf)[(\s]\s*(?:["']?(?:/|~/?|/home|/etc|/usr)["']?\s*[,)]|os\.path\.expanduser\(\s*["']?~/?["']?\s*\)|Path\.home\(\)|(?:os|require\(["']?os["']?\))\.homedir\(\)|process\.env\.HOME|os\.environ\[["']HOME["']\]|Dir\.home|\$ENV\{["']?HOME["']?\}|os\.Getenv\(["']HOME["']\)|env!?\(["']HOME|/\s*(?:$|\n|[;&"']))`)},
	{keys: []string{`"rm"`, "'rm'"}, code: removesRoot, detail: byProgram, pattern: anchored(`["']rm["']\s*,\s*(?:\[\s*)?(?:["'](?:-[rRf]+|--[a-z-]+)["']\s*,\s*)+["'](?:/|/\*|~|~/)["']`)},
	{keys: []string{"Remove-Item ", "rd ", "rmdir ", "del "}, word: true, code: removesRoot, pattern: removeWindows},
	{keys: []string{":(){"}, code: removesRoot, pattern: anchored(`:\(\)\{ ?:\|:& ?\};? ?:`)},
	{keys: []string{"curl ", "wget ", "curl.exe ", "ssh ", "dig ", "nslookup ", "drill ", "aws s3 cp ", "gsutil cat "}, word: true, prefilter: func(text []byte, at int) bool {
		return bytes.ContainsAny(lineBefore(text, at, 80), "(`") || bytes.Contains(window(text, at), []byte(">("))
	}, find: findPipe},
	{keys: []string{"curl ", "wget "}, word: true, prefilter: namesVariable, find: findSentSecret},
	{keys: []string{"curl ", "wget ", "base64 ", "fetch ", "aria2c ", "certutil ", "iwr ", "Invoke-WebRequest ", "urlretrieve(", "printf ", "echo ", "Start-BitsTransfer "}, word: true, anyCase: true, prefilter: savesFile, find: findFetchAndRun},
	{keys: sinkKeys(), find: findSink},
	{keys: []string{"iwr ", "irm ", "Invoke-WebRequest ", "Invoke-RestMethod "}, word: true, anyCase: true, find: findExpression},
	{keys: []string{"iex", "Invoke-Expression"}, word: true, anyCase: true, cost: 2, find: findExpression},
	{keys: []string{"DownloadString(", "DownloadFile(", "DownloadData("}, anyCase: true, find: findDownload},
	{keys: []string{"powershell", "pwsh"}, word: true, anyCase: true, code: "scan.command.decode_shell", pattern: anchored(`(?i)(?:powershell|pwsh)(?:\.exe)?\s[^\n|;]{0,100}?-(?:e|ec|en|enc|enco\w*)\s+["']?[A-Za-z0-9+/]{16,}`)},
	{keys: []string{"mshta ", "regsvr32 ", "bitsadmin ", "msiexec ", "rundll32 "}, word: true, code: "scan.command.pipe_shell", pattern: anchored(`(?i)(?:mshta\s+["']?(?:https?|javascript|vbscript):|regsvr32\s[^\n]{0,80}/i:["']?https?:|bitsadmin\s[^\n]{0,120}/transfer[^\n]{0,120}https?://|rundll32\s[^\n]{0,40}javascript:)`)},
	{keys: []string{"base64 ", "base32 ", "xxd ", "openssl ", "gunzip ", "zcat ", "uudecode ", "rev ", "tr "}, word: true, code: "scan.command.decode_shell", match: func(text []byte, at int) bool {
		return decoding().Match(window(text, at)) && decodeInto().Match(lineBefore(text, at, 300))
	}},
	{keys: []string{"eval", "exec", "Function(", "compile(", "loads(", "system(", "popen(", "os.execute(", "shell_exec(", "passthru(", "subprocess.", "loadstring(", "load(http", "load(assert"}, word: true, cost: 3, find: findEval},
	{keys: []string{`pack("H*"`, "pack('H*'", `pack "H*"`, `pack("H*`}, cost: 2, code: "scan.command.decode_shell", match: follows(runsBefore, 40)},
	{keys: []string{"$(curl", "$(wget", "`curl", "`wget"}, find: findAssigned},
	{keys: []string{"| $"}, code: "scan.command.decode_shell", pattern: splitName},
	{keys: []string{"require(", "__import__(", "getattr(", "6368696c645f70726f63657373", "Y2hpbGRfcHJvY2Vzc"}, code: "scan.command.decode_shell", pattern: hiddenCall},
	{keys: []string{"$(printf ", "$(echo ", "`printf ", "`echo "}, cost: 3, code: "scan.command.decode_shell", pattern: spelled},
	{keys: []string{".aws/credentials", ".ssh/id_", ".git-credentials", "/.netrc", "/etc/shadow", "secrets/vault", "secrets.vault"}, code: "scan.command.credential_path", pattern: anchored(`(?:\.ssh/id_(?:rsa|dsa|ecdsa|ed25519)|\.aws/credentials|\.git-credentials|/\.netrc|/etc/shadow|secrets[/.]vault)(?:[^\w.-]|\.(?:[^p]|$)|$)`)},
	{keys: []string{"169.254.169.254", "metadata.google.internal", "169.254.170.2", "fd00:ec2::254"}, code: "scan.command.metadata_credentials", pattern: metadata},
}, shellProbes, exfilProbes, persistenceProbes, fetchedProbes, machineProbes, sentProbes, instructionProbes)

// byProgram is the detail of a removal by a function call, which is executed wherever it is on the line.
const byProgram = "by a program"

// A shell, as the end of a pipe names it, and what comes between a command and it. Other interpreters count without a
// program of their own in -c or -e, because then they run what they read.
const (
	prefix  = `(?:(?:sudo|doas)\s+(?:-\S+(?:\s+root)?\s+)*|nohup\s+|exec\s+|command\s+|time\s+|busybox\s+|setsid\s+(?:-\w+\s+)*|timeout\s+(?:-\S+\s+)*\S+\s+|nice\s+(?:-n\s*\S+\s+)?|stdbuf\s+(?:-\S+\s+)+|unbuffer\s+|env\s+(?:-\S+\s+|\w+=\S*\s+)*|\w+=\S*\s+)*`
	binary_ = `(?:(?:/usr)?(?:/local)?/bin/)?(?:env\s+)?`
	endWord = `(?:[\s"'` + "`" + `;&|)\\<>]|$)`
	script_ = `(?:python[23]?(?:\.\d+)?|perl|node|ruby|php|deno\s+run|bun\s+run|pwsh|powershell)(?:\s+-)?\s*(?:["'` + "`" + `;)&>]|2>|$|\n)`
	shells  = `(?:(?:ba|z|da|k|a|fi)?sh|\$\{?SHELL\}?|\$\{SHELL:-[^}]*\}|\$0|\$BASH)` + endWord
	source_ = `(?:source|\.)\s+/dev/stdin`
	through = `xargs\s[^\n|;]{0,60}?\b(?:(?:ba|z|da|k)?sh|eval)\b|parallel\s*(?:$|\n|["'` + "`" + `])`
	reads_  = `(?:tar\s[^\n;&|]{0,60}(?:&&|;|\n)\s*(?:cd\s+\S+\s*(?:&&|;|\n)\s*)?(?:sudo\s+)?(?:(?:ba)?sh\s+)?\./\S+|g?make\s[^\n|;]{0,40}?-f\s*(?:-|/dev/stdin)|g?awk\s+-f\s*(?:-|/dev/stdin)|at\s+(?:now|midnight|noon|teatime|-t|\+|\d)|batch\s*(?:$|\n|["'` + "`" + `;&])|(?:tclsh|lua|osascript|Rscript|expect|guile|sbcl)(?:\s+-)?\s*(?:["'` + "`" + `;)&>]|$|\n)|(?:ssh|docker\s+exec)\s[^\n|;]{0,80}?\b(?:ba|z|da)?sh(?:\s+-s)?\s*(?:["'` + "`" + `;]|$|\n)|su\s+(?:-\s+)?\w*\s*(?:$|\n))`
	sink    = prefix + binary_ + `(?:` + shells + `|` + script_ + `|` + source_ + `|` + reads_ + `|` + through + `)`
)

var (
	sinkAt        = anchored(`\|&?\s?` + sink)
	removeRoot    = anchored(`rm\s+((?:-{1,2}[a-zA-Z-]+\s+)+)(?:--\s+)?["']?(?:/(?:etc|usr|home|boot|bin|lib|sbin|var|root|Users|System|Library)?/?|~/?|\$HOME/?|\$\{HOME\}/?)(\*|\.\*)?["']?(?:[\s;&|)` + "`" + `"'\\,#]|$)`)
	removeWindows = anchored(`(?i)(?:Remove-Item\s[^\n;|]{0,60}?(?:["']?[a-z]:\\?["']?(?:\*|\s|$)|\$(?:HOME|env:USERPROFILE|env:SystemDrive)\\?\*?(?:\s|["']|$|\n))|(?:rd|rmdir|del)\s+(?:/[sqf]\s+){1,3}["']?(?:[a-z]:\\(?:\*(?:\.\*)?)?|%USERPROFILE%|%SystemDrive%\\?)["']?\s*(?:$|\n|[&"'` + "`" + `]))`)
	metadata      = anchored(`(?:169\.254\.169\.254|\[?fd00:ec2::254\]?)/(?:latest/(?:meta-data/iam/(?:security-credentials|info)|api/token|user-data)|metadata/identity/oauth2/token|computeMetadata/v1/instance/service-accounts)|(?:metadata\.google\.internal/computeMetadata/v1/instance/service-accounts/[^\s/]{1,80}/(?:token|identity))|(?:169\.254\.170\.2[/$])`)
)

// sinkKeys returns the keys of the last command of a pipe.
func sinkKeys() []string {
	var keys []string
	for _, word := range []string{
		"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "sudo", "doas", "/bin/", "/usr/", "env ", "nohup ", "exec ", "command ", "busybox ", "python", "perl",
		"node", "ruby", "php", "deno ", "bun ", "pwsh", "powershell", "source ", ". /dev", "xargs ", "parallel", "$SHELL", "${SHELL", "$0", "$BASH", "time ", "tar ", "make ", "gmake ", "awk ", "at ", "batch", "lua", "tclsh", "osascript", "Rscript", "expect", "ssh ", "docker exec", "su ", "setsid ", "timeout ", "nice ", "stdbuf ",
	} {
		keys = append(keys, "|"+word, "| "+word, "|& "+word)
	}
	return append(keys, "|\nsh", "|\nbash", "| \nsh", "| \nbash")
}

// isRemoveRoot reports whether a place is the removal of everything. rm needs a recursive flag, or a pattern for the content.
func isRemoveRoot(text []byte, at int) bool {
	if bytes.IndexByte(head(window(text, at), 40), '*') >= 0 && removeAll().Match(window(text, at)) && changesTo().Match(lineBefore(text, at, 80)) {
		return true // the content of the directory that the same line changes to
	}
	m := removeRoot().FindSubmatch(window(text, at))
	return m != nil && slices.ContainsFunc(strings.Fields(string(m[1])), func(flag string) bool {
		if strings.HasPrefix(flag, "--") {
			return flag == "--recursive" || flag == "--no-preserve-root" || len(m[2]) > 0 && flag == "--force"
		}
		return strings.ContainsAny(flag, "rR") || len(m[2]) > 0 && strings.Contains(flag, "f")
	})
}

var (
	changesTo = compile(`(?:^|[\s;&|])cd(?:\s+(?:/|~|"?\$HOME"?))?\s*(?:&&|;)\s*(?:sudo\s+)?$`)
	removeAll = anchored(`rm\s+-[a-zA-Z]*[rR][a-zA-Z]*\s+(?:-\w+\s+)*(?:\./)?(?:\.\*\s+|\.\[\S+\s+)*\.?\*(?:[\s;&|)]|$)`)
)

// lineBefore returns up to limit bytes of the line before a place.
func lineBefore(text []byte, at, most int) []byte {
	before := text[max(0, at-most):at]
	return before[bytes.LastIndexByte(before, '\n')+1:]
}
