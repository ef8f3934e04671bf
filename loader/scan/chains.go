package scan

import (
	"slices"
)

// chain is a sequence of places that form one finding, such as a socket, a connection and a shell. Each place follows the
// one before within a distance. One pass finds all chains, so many places cost no more than their keys.
type chain struct {
	code, detail string
	steps        []step
	// confirm confirms a finding at the place of the last step; optional.
	confirm func(text []byte, at int) bool
}

type step struct {
	keys []string
	// word: the key must begin a word; ends: it must end one; anyCase: case is ignored.
	word, ends, anyCase bool
	// within is the maximum distance in bytes from the step before.
	within int
	// sameLine excludes a line end between the step before and this one.
	sameLine bool
	// check confirms a place of the key; optional. It examines at most maxStep bytes.
	check func(text []byte, at int) bool
}

// maxStep is how far the check of a step reads.
const maxStep = 64

// from returns the check for an anchored pattern.
func from(re pattern) func(text []byte, at int) bool {
	return func(text []byte, at int) bool { return re().Match(text[at:min(len(text), at+maxStep)]) }
}

const maxChainSteps = 4

// chainState has, for each step, the offset up to which the next step continues the chain; -1 is none.
type chainState [maxChainSteps]int

const (
	netShell    = "scan.command.reverse_shell_nc"
	scriptShell = "scan.command.reverse_shell_script"
	dataExfil   = "scan.command.data_exfil"
)

// Names of shells in programs of other languages.
var (
	shellPaths  = []string{"/bin/sh", "/bin/bash", "/bin/zsh"}
	quotedShell = []string{`"sh"`, `'sh'`, `"bash"`, `'bash'`, `"zsh"`, `'zsh'`}
	windowShell = []string{`"cmd"`, `'cmd'`, `"cmd.exe`, `'cmd.exe`, `"powershell`, `'powershell`}
)

var (
	pythonSocket = step{keys: []string{"socket.socket(", "import socket", "socket(socket.", "create_connection("}}
	connects     = step{keys: []string{"connect(", "connect_ex("}, within: 800}
	nodeSocket   = step{keys: []string{"net.connect(", "net.Socket(", "net.createConnection(", `require("net")`, "require('net')", "require(net)", "node:net", "from 'net'", `from "net"`}}
	httpGet      = step{keys: []string{"https.get(", "http.get(", "https).get(", "http).get("}}
	sendCall     = step{keys: []string{
		"requests.post(", "requests.put(", "requests.get(", "httpx.post(", "urlopen(", "urllib.request.Request(", "fetch(", "axios.post(", "axios.get(",
		".sendall(", "session.post(", "client.post(", "HTTPSConnection(", "HTTPConnection(", "storbinary(", "sendmail(", "send_message(", ".sendto(", "got.post(", "https.request(", "http.request(", "UploadString(", "Net::HTTP.post", "post_form(",
		"http.Post", "http.NewRequest(", "->post(", "->request(", "HTTParty.post", "Faraday.post", "RestClient.post", "PostAsync(", "curl_exec(", "UploadData(", "UploadFile(",
	}}
	readCall = step{keys: []string{
		"open", "readFileSync", "readFile", "read_text", "read_bytes", "Path", "expanduser", "File.read", "file_get_contents", "Get-Content", "ReadAllText", "join", "Join", "ReadFile", "slurp", "read_to_string",
	}, ends: true}
)

// runsReceived is a call with a variable as its command, instead of a command of its own.
var runsReceived = anchored(`(?:subprocess\.\w+|os\.popen|os\.system|exec)\(\s*(?:str\()?[a-zA-Z_]\w*(?:\.\w+\([^)]{0,20}\)|\[[^\]]{0,10}\])*\s*(?:[,)]|$)`)

// chains are shells that a program connects to the network, and credentials or an environment that it sends.
var chains = []chain{
	{code: scriptShell, steps: []step{pythonSocket, connects, {keys: slices.Concat([]string{"dup2(", "pty.spawn"}, shellPaths, windowShell), within: 400}}},
	{code: scriptShell, steps: []step{pythonSocket, connects, {keys: []string{"recv("}, within: 400}, {keys: []string{"subprocess.", "os.popen", "os.system", "exec("}, within: 300, check: from(runsReceived)}}},
	{code: scriptShell, steps: []step{{keys: []string{"use Socket", "IO::Socket"}}, {keys: []string{"connect", "INET"}, within: 300}, {keys: []string{"exec", "system", "open"}, ends: true, within: 300}, {keys: slices.Concat([]string{"STDIN", "cmd"}, shellPaths), within: 80}}},
	{code: scriptShell, steps: []step{{keys: []string{"IO::Socket"}}, {keys: []string{"fdopen("}, within: 300}, {keys: []string{"system", "exec"}, within: 200}}},
	{code: "scan.command.pipe_shell", steps: []step{
		{keys: []string{"urlretrieve("}},
		{keys: []string{"os.system(", "subprocess.", "Popen(", "os.exec"}, within: 300, check: from(anchored(`[\w.]+\(\s*\[?\s*f?["']?(?:sudo )?(?:(?:ba)?sh\b|\./|(?:\w+["']?,?\s*["']?)?(?:/tmp/|/var/tmp|/dev/shm))`))},
	}},
	{code: "scan.command.pipe_shell", steps: []step{
		{keys: []string{"requests.get(", "httpx.get(", "urlopen(", "http.Get(", "fetch(", "URI.open("}},
		{keys: []string{"write", "os.Create(", "os.WriteFile(", "copyfileobj("}, within: 400},
		{keys: []string{"os.system(", "subprocess.", "Popen(", "os.exec", "exec.Command(", "execSync(", "execFileSync(", "system("}, within: 400, check: from(anchored(`[\w.]+\(\s*\[?\s*f?["']?(?:sudo )?(?:(?:(?:ba)?sh["',\s]+|python3?["',\s]+)?(?:\./|/tmp/|/var/tmp|/dev/shm))`))},
	}},
	{code: "scan.command.pipe_shell", steps: []step{{keys: []string{"http.Get("}}, {keys: []string{"exec.Command("}, within: 600, check: from(anchored(`exec\.Command\(\s*["'](?:/bin/)?(?:ba)?sh["']\s*,\s*["']-c["']\s*,\s*(?:string\()?[a-z]\w*\)`))}}},
	{code: removesRoot, detail: byProgram, confirm: nearHome, steps: []step{{keys: []string{"Fernet(", "AES.new(", "AESGCM(", "ChaCha20", "createCipheriv("}}, {keys: []string{"glob(", "os.walk(", "readdirSync(", "WalkDir("}, within: 500}, {keys: []string{".encrypt(", ".update(", ".Seal(", ".encrypt_and"}, within: 400}}},
	{code: scriptShell, steps: []step{{keys: []string{"TCPSocket.new", "TCPSocket.open"}}, {keys: slices.Concat([]string{"exec", "IO.popen", "spawn", "Open3"}, shellPaths), within: 200}}},
	{code: scriptShell, steps: []step{{keys: []string{"fsockopen("}}, {keys: slices.Concat([]string{"exec(", "exec (", "proc_open", "popen(", "popen (", "system(", "system (", "passthru"}, shellPaths), within: 200}}},
	{code: scriptShell, steps: []step{nodeSocket, {keys: slices.Concat([]string{"cmd.exe", "child_process"}, shellPaths, quotedShell), within: 400}, {keys: []string{".pipe(", "connect("}, within: 400}}},
	{code: scriptShell, steps: []step{nodeSocket, {keys: []string{".pipe("}, within: 400, check: from(anchored(`\.pipe\([^)]{0,40}(?:stdin|sh\.)`))}}},
	{code: "scan.command.pipe_shell", steps: []step{{keys: []string{"fetch(", "axios", "got(", "http.get(", "https.get("}}, {keys: []string{".then("}, within: 300, check: from(anchored(`\.then\(\s*(?:eval\s*\)|(?:async\s+)?\(?\s*\w+\s*\)?\s*=>\s*[({]?\s*(?:return\s+)?(?:\(0,\s*eval\)|eval|(?:new\s+)?Function|vm\.runIn\w+)\s*\()`))}}},
	{code: "scan.command.pipe_shell", steps: []step{httpGet, {keys: []string{`.on("end"`, `.on('end'`, ".on(end"}, within: 250}, {keys: []string{"eval(", "Function("}, word: true, within: 80}}},
	{code: "scan.command.pipe_shell", steps: []step{httpGet, {keys: []string{".pipe("}, within: 250, check: from(anchored(`\.pipe\([^\n]{0,60}?(?:spawn|exec|stdin|\bsh\b)`))}}},
	{code: "scan.command.pipe_shell", steps: []step{httpGet, {keys: []string{"execSync(", "exec(", "vm.run", "runInThisContext("}, within: 250, check: from(anchored(`\w+(?:\.\w+)?\(\s*[a-zA-Z_$][\w$.]*\s*[,)]`))}}},
	{code: scriptShell, steps: []step{{keys: []string{`net.Dial("tcp`, "net.Dial(tcp"}}, {keys: []string{"exec.Command("}, within: 400, check: from(anchored(`exec\.Command\(\s*["']?(?:/bin/)?(?:ba|z)?sh|exec\.Command\(\s*["']cmd`))}}},
	{code: scriptShell, steps: []step{{keys: []string{"ProcessBuilder(", "getRuntime().exec("}}, {keys: shellPaths, within: 60}, {keys: []string{"new Socket("}, within: 300}}},
	{code: scriptShell, steps: []step{{keys: []string{"/inet/tcp/"}}, {keys: []string{"getline", "|& ", "|&s"}, within: 200}}},
	{code: scriptShell, steps: []step{{keys: []string{"Sockets.TcpClient"}, anyCase: true}, {keys: []string{"iex", "Invoke-Expression", "cmd.exe", "powershell"}, anyCase: true, word: true, ends: true, within: 900}}},
	{code: scriptShell, steps: []step{{keys: []string{`require("socket")`, "require('socket')", "require(socket)", "require 'socket'", `require "socket"`}}, {keys: []string{"tcp(", "connect("}, within: 250}, {keys: []string{"os.execute", "io.popen", "loadstring"}, within: 250}}},
	{code: dataExfil, confirm: sends, steps: []step{sendCall, {keys: []string{"os.environ", "process.env", "ENV."}, check: isWholeEnv, within: 300}}},
	{code: dataExfil, confirm: sends, steps: []step{sendCall, withinBytes(readCall, 400), {keys: credentialKeys, word: true, check: from(credential), within: 120, sameLine: true}}},
	{code: dataExfil, confirm: sends, steps: []step{readCall, {keys: credentialKeys, word: true, check: from(credential), within: 120, sameLine: true}, withinBytes(sendCall, 300)}},
}

// nearHome reports whether the home directory is named before a place.
func nearHome(text []byte, at int) bool { return homeNamed().Match(text[max(0, at-reach):at]) }

var homeNamed = compile(`Path\.home\(\)|expanduser\(|homedir\(\)|\bHOME\b|["'](?:/home|/Users|C:\\+Users)`)

func withinBytes(s step, within int) step {
	s.within = within
	return s
}

// Credentials in a program: the part of the path that begins with a key.
var (
	credentialKeys = []string{
		".ssh", ".aws", ".netrc", ".git-credentials", ".kube/config", ".docker/config.json", ".npmrc", ".pypirc", ".gnupg", ".config/gcloud", ".config/solana", ".config/gh/hosts",
		"/Keychains", "Google/Chrome", "google-chrome", ".mozilla", "Mozilla", "Cookies", "cookies.sqlite", "key4.db", "keyrings", "MetaMask", "nkbihf", ".password-store",
		"application_default", "accessTokens.json", ".kdbx", ".config/op", ".cargo/credentials", ".s3cfg", ".boto", ".oci/", ".config/rclone", ".codex/auth",
		".psql_history", ".mysql_history", ".python_history", ".zhistory", ".azure", ".bash_history", ".zsh_history", ".pgpass", ".my.cnf", ".env", ".openclaw", ".claude/.credentials", ".claude.json", ".vault-token",
		".terraform.d/credentials", ".electrum", ".bitcoin", ".ethereum/keystore", ".solana/id", "/etc/shadow", "/etc/passwd", "/proc/", "id_rsa", "id_ed25519",
		"id_ecdsa", "id_dsa", "wallet.dat", "Login Data", "logins.json", "keychain-db", "login.keychain", "aws/credentials", `aws\credentials`, "ssh/id_", `ssh\id_`,
	}
	credential = anchored(credentials + `|` + prints + `|` + ownKeys)

	environAfter  = anchored(`os\.environ\b(?:[)\s,}]|\.copy|\.items|$)|ENV\.(?:to_h|to_a|inspect|to_json)|process\.env\s*[,)}\n]`)
	environBefore = compile(`\.\.\.$|JSON\.stringify\(\s*$|(?:body|data|env|\be|json)["']?\s*[:=]\s*$`)
	sendsData     = compile(`\b(?:data|json|files|body|params|content|method|stringify|environ)\b|\?|\+|sendall\(|write\(|(?i:post)\w*\(|bytes\.|curl_setopt`)
)

// isWholeEnv reports whether a place refers to the whole environment, not one variable.
func isWholeEnv(text []byte, at int) bool {
	if !from(environAfter)(text, at) {
		return false
	}
	return text[at] != 'p' || environBefore().Match(text[max(0, at-30):at])
}

// sends reports whether a program around a place sends more than a plain request.
func sends(text []byte, at int) bool {
	return sendsData().Match(text[max(0, at-300):min(len(text), at+300)])
}
