package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pannier/config"
	"pannier/internal/yamldoc"
)

// repository is where the Dockerfile is.
const repository = "../.."

// instruction is one of a Dockerfile.
type instruction struct{ name, text string }

// dockerfile returns the instructions, with continued lines joined.
func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(repository, "Dockerfile")))(t)
	var all []instruction
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, strings.TrimSpace(rest)})
	}
	return all
}

// last returns the text of the last instruction with that name, which is the one of the image.
func last(t *testing.T, all []instruction, name string) string {
	t.Helper()
	for _, i := range slices.Backward(all) {
		if i.name == name {
			return i.text
		}
	}
	t.Fatalf("the Dockerfile has no %s", name)
	return ""
}

// words returns the JSON list that an instruction ends in.
func words(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(text[strings.Index(text, "["):]), &list); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}

// imageSettings returns the settings that the variables of the image give. A variable that is no setting is an error.
func imageSettings(t *testing.T, all []instruction) config.Settings {
	t.Helper()
	s, err := config.Load(nil, append([]string{"HOME=/home/nonroot"}, strings.Fields(last(t, all, "ENV"))...))
	if err != nil {
		t.Fatalf("ENV: %v", err)
	}
	return s
}

// checkCommand fails unless a command line is one of ours: a subcommand that there is, with flags that it has.
func checkCommand(t *testing.T, what string, args []string) {
	t.Helper()
	root := newRoot(streams{out: io.Discard, err: io.Discard}, nil)
	cmd, rest, err := root.Find(args)
	if err == nil && cmd == root {
		t.Errorf("%s: %q has no subcommand", what, args)
	} else if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %q: %v", what, args, err)
	}
}

func TestDockerfile(t *testing.T) {
	all := dockerfile(t)
	made := map[string]bool{} // what the build leaves for the image
	for _, i := range all {
		switch i.name {
		case "RUN":
			for _, path := range regexp.MustCompile(`/out/\S+`).FindAllString(i.text, -1) {
				made[path] = true
			}
		case "COPY":
			checkCopy(t, i.text, made)
		}
	}

	s := imageSettings(t, all)
	volumes := words(t, last(t, all, "VOLUME"))
	for _, dir := range []string{filepath.Dir(s.Socket.Path), s.StateDir} {
		if !slices.Contains(volumes, dir) {
			t.Errorf("%s is no volume among %q", dir, volumes)
		}
		if !slices.ContainsFunc(all, func(i instruction) bool {
			return i.name == "COPY" && strings.HasSuffix(i.text, " "+dir) && strings.Contains(i.text, "--chown="+last(t, all, "USER")+" ")
		}) {
			t.Errorf("%s does not belong to the user of the image", dir)
		}
	}
	if dir := last(t, all, "WORKDIR"); dir != "/" {
		t.Errorf("WORKDIR %s", dir)
	}

	program := words(t, last(t, all, "ENTRYPOINT"))
	if !slices.Equal(program, []string{"/pannier"}) || !made["/out/pannier"] {
		t.Errorf("ENTRYPOINT %q, made %v", program, made)
	}
	checkCommand(t, "CMD", words(t, last(t, all, "CMD")))
	health := words(t, last(t, all, "HEALTHCHECK"))
	if health[0] != program[0] {
		t.Errorf("HEALTHCHECK runs %s", health[0])
	}
	checkCommand(t, "HEALTHCHECK", health[1:])
}

// TestImageVersion builds the program as the Dockerfile does, and compares the names of the image in the manifests.
func TestImageVersion(t *testing.T) {
	t.Parallel()
	all := dockerfile(t)
	labels := last(t, all, "LABEL")
	for _, label := range []string{`org.opencontainers.image.version="${VERSION}"`, `org.opencontainers.image.revision="${COMMIT}"`} {
		if !strings.Contains(labels, label) {
			t.Errorf("the image has no label %s", label)
		}
	}
	var flags string
	for _, i := range all {
		if found := regexp.MustCompile(`-ldflags "([^"]+)"`).FindStringSubmatch(i.text); i.name == "RUN" && found != nil {
			flags = strings.NewReplacer("${VERSION}", "v1.2.3", "${COMMIT}", "0a1b2c").Replace(found[1])
		}
	}
	program := filepath.Join(t.TempDir(), "pannier")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", flags, "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Dockerfile does, and the build cache has the packages
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program, "version").Output(); err != nil || !strings.HasPrefix(string(out), "pannier v1.2.3 (commit 0a1b2c) go") {
		t.Errorf("%s, %v", out, err)
	}

	text := must(os.ReadFile(filepath.Join(repository, "docker-compose.yml")))(t)
	named := regexp.MustCompile(`image: "pannier:(\$\{VERSION:-(v\d+\.\d+\.\d+)\})"`).FindStringSubmatch(string(text))
	if named == nil || !strings.Contains(string(text), `VERSION: "`+named[1]+`"`) || !strings.Contains(string(text), `COMMIT: "${COMMIT:-}"`) {
		t.Fatalf("docker-compose.yml does not name the image as it is built: %q", named)
	}
	for _, c := range deployment(t, "kubernetes/base/agent.yaml").each("initContainers") {
		if got, want := c.text("image"), "pannier:"+named[2]; got != want {
			t.Errorf("the Kubernetes base has the image %s, docker-compose.yml %s", got, want)
		}
	}
}

// checkCopy fails unless what a COPY takes is there: in the repository, or among what the build has made.
func checkCopy(t *testing.T, text string, made map[string]bool) {
	t.Helper()
	fields := strings.Fields(text)
	ofBuild := slices.Contains(fields, "--from=build")
	paths := slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, "--") })
	for _, path := range paths[:len(paths)-1] {
		if ofBuild {
			if !made[path] {
				t.Errorf("COPY %s: the build does not make %s", text, path)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(repository, path)); err != nil {
			t.Errorf("COPY %s: %v", text, err)
		}
	}
}

// composeService is a service of the Compose file.
type composeService struct{ yamldoc.Value }

func (s composeService) text(key string) string {
	text, _ := s.Get(key).Text()
	return text
}

func (s composeService) list(keys ...string) []string {
	v := s.Value
	for _, key := range keys {
		v = v.Get(key)
	}
	var texts []string
	for item := range v.Items() {
		text, _ := item.Text()
		texts = append(texts, text)
	}
	return texts
}

// mounted returns what a service has at a path, empty where nothing is.
func (s composeService) mounted(target string) string {
	for _, volume := range s.list("volumes") {
		volume = strings.TrimSuffix(volume, ":ro")
		if source, ok := strings.CutSuffix(volume, ":"+target); ok {
			return source
		}
	}
	return ""
}

func TestCompose(t *testing.T) {
	text := must(os.ReadFile(filepath.Join(repository, "docker-compose.yml")))(t)
	doc, faults, err := yamldoc.Parse(text)
	if err != nil || len(faults) > 0 {
		t.Fatalf("%v %v", err, faults)
	}
	agent, sidecar := composeService{doc.Get("services").Get("agent")}, composeService{doc.Get("services").Get("pannier")}
	image := dockerfile(t)
	s := imageSettings(t, image)

	for _, dir := range []string{s.Workspace, filepath.Dir(s.Socket.Path)} {
		if a, b := agent.mounted(dir), sidecar.mounted(dir); a == "" || a != b {
			t.Errorf("at %s the agent has %q and the sidecar %q", dir, a, b)
		}
	}
	for _, dir := range []string{filepath.Dir(s.Socket.Path), s.StateDir} {
		if name := sidecar.mounted(dir); doc.Get("volumes").Get(name).Kind() == yamldoc.Missing {
			t.Errorf("the volume %q at %s is not declared", name, dir)
		}
	}
	_, workspace, ok := strings.Cut(strings.TrimSuffix(sidecar.mounted(s.Workspace), "}"), ":-")
	if _, err := os.Stat(filepath.Join(repository, workspace, "config.yaml")); !ok || err != nil {
		t.Errorf("the workspace %q: %v", workspace, err)
	}
	if command := agent.list("command"); !slices.Contains(command, s.Socket.Path) {
		t.Errorf("the agent asks %q, the socket is %s", command, s.Socket.Path)
	}

	user := last(t, image, "USER")
	if agent.text("user") != user || sidecar.text("user") != user {
		t.Errorf("users %q and %q, the image has %q", agent.text("user"), sidecar.text("user"), user)
	}
	if only, _ := sidecar.Get("read_only").Bool(); !only || !slices.Equal(sidecar.list("cap_drop"), []string{"ALL"}) ||
		!slices.Equal(sidecar.list("security_opt"), []string{"no-new-privileges:true"}) {
		t.Error("the sidecar may do more than it needs to")
	}
	health := sidecar.list("healthcheck", "test")
	if len(health) < 2 || health[0] != "CMD" || health[1] != "/pannier" {
		t.Fatalf("healthcheck %q", health)
	}
	checkCommand(t, "healthcheck", health[2:])
	checkVariables(t, sidecar)
}

// checkVariables fails unless every variable of a service is a setting, and every value good where nothing is put in.
func checkVariables(t *testing.T, s composeService) {
	t.Helper()
	environ := []string{"HOME=/home/nonroot"}
	for pair := range s.Get("environment").Pairs() {
		value, _ := pair.Value.Text()
		environ = append(environ, pair.Key+"="+regexp.MustCompile(`\$\{\w+:-(.*?)\}`).ReplaceAllString(value, "$1"))
	}
	if len(environ) < 2 {
		t.Error("no variables were found")
	}
	if _, err := config.Load(nil, environ); err != nil {
		t.Errorf("environment: %v", err)
	}
}
