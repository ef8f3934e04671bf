package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pannier/config"
	"pannier/internal/yamldoc"
)

// deployDir is where the manifests are.
const deployDir = "../../deploy"

// object is a part of a manifest.
type object map[string]any

// at returns what lies below a path of keys, nil where nothing does.
func (o object) at(keys ...string) any {
	var value any = map[string]any(o)
	for _, key := range keys {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[key]
	}
	return value
}

// each returns the objects of a list.
func (o object) each(keys ...string) []object {
	list, _ := o.at(keys...).([]any)
	var objects []object
	for _, item := range list {
		m, _ := item.(map[string]any)
		objects = append(objects, m)
	}
	return objects
}

func (o object) text(keys ...string) string {
	text, _ := o.at(keys...).(string)
	return text
}

// documents returns those of a YAML file. A repeated key is a fault.
func documents(t *testing.T, path string) []object {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	var all []object
	for i, part := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
		value, faults, err := yamldoc.Parse([]byte(part))
		if err != nil || len(faults) > 0 {
			t.Fatalf("%s, document %d: %v %v", path, i+1, err, faults)
		}
		var o object
		if err := json.Unmarshal(value.JSON(), &o); err != nil || len(o) == 0 {
			t.Fatalf("%s, document %d: %v", path, i+1, err)
		}
		all = append(all, o)
	}
	return all
}

// manifests returns the files below a directory with an ending.
func manifests(t *testing.T, dir string, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(deployDir, dir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && slices.Contains(endings, filepath.Ext(path)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	return found
}

func TestManifestsAreRead(t *testing.T) {
	for _, path := range manifests(t, ".", ".yaml", ".yml") {
		documents(t, path)
	}
	for _, path := range manifests(t, "kubernetes", ".yaml") {
		for _, o := range documents(t, path) {
			if o.text("apiVersion") == "" || o.text("kind") == "" {
				t.Errorf("%s is no object of Kubernetes", path)
			}
		}
	}
}

// deployment returns the Deployment of a manifest.
func deployment(t *testing.T, path string) object {
	t.Helper()
	for _, o := range documents(t, filepath.Join(deployDir, path)) {
		if o.text("kind") == "Deployment" {
			spec, _ := o.at("spec", "template", "spec").(map[string]any)
			return spec
		}
	}
	t.Fatalf("%s has no Deployment", path)
	return nil
}

// TestPodIsRestricted holds the pod against the Pod Security Standard "restricted".
func TestPodIsRestricted(t *testing.T) {
	pod := deployment(t, "kubernetes/base/agent.yaml")
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if pod.at(key) != nil {
			t.Errorf("the pod says %s", key)
		}
	}
	if pod.at("securityContext", "runAsNonRoot") != true || pod.text("securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		t.Errorf("the pod's context is %v", pod.at("securityContext"))
	}
	allowed := []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for _, v := range pod.each("volumes") {
		for key := range v {
			if key != "name" && !slices.Contains(allowed, key) {
				t.Errorf("the volume %s is a %s", v.text("name"), key)
			}
		}
	}
	containers := append(pod.each("initContainers"), pod.each("containers")...)
	if len(containers) != 2 {
		t.Fatalf("%d containers", len(containers))
	}
	for _, c := range containers {
		checkRestricted(t, c)
	}
}

func checkRestricted(t *testing.T, c object) {
	t.Helper()
	context, _ := c.at("securityContext").(map[string]any)
	drop, _ := object(context).at("capabilities", "drop").([]any)
	uid, _ := context["runAsUser"].(float64)
	if context["runAsNonRoot"] != true || context["allowPrivilegeEscalation"] != false || context["readOnlyRootFilesystem"] != true || context["privileged"] != nil || uid < 1 || len(drop) != 1 || drop[0] != "ALL" {
		t.Errorf("the context of %s is %v", c.text("name"), context)
	}
	for _, port := range c.each("ports") {
		if port["hostPort"] != nil {
			t.Errorf("%s has a port of the host", c.text("name"))
		}
	}
}

// TestPodHasASidecar checks what makes the container one, its probes, and that it shares with the agent what it must.
func TestPodHasASidecar(t *testing.T) {
	pod := deployment(t, "kubernetes/base/agent.yaml")
	sidecar, agent := pod.each("initContainers")[0], pod.each("containers")[0]
	if sidecar.text("name") != "pannier" || sidecar.text("restartPolicy") != "Always" {
		t.Errorf("the sidecar is %s with restartPolicy %q", sidecar.text("name"), sidecar.text("restartPolicy"))
	}
	args, _ := sidecar.at("args").([]any)
	checkCommand(t, "args", texts(args))
	for probe, flag := range map[string]string{"startupProbe": "--startup", "readinessProbe": "--ready", "livenessProbe": "--live"} {
		command, _ := sidecar.at(probe, "exec", "command").([]any)
		words := texts(command)
		if len(words) != 3 || words[0] != "/pannier" || words[2] != flag {
			t.Fatalf("%s is %q", probe, words)
		}
		checkCommand(t, probe, words[1:])
		if patience, _ := sidecar.at(probe, "timeoutSeconds").(float64); patience <= probeTimeout.Seconds() {
			t.Errorf("%s waits %v seconds, and the answer may take %s", probe, patience, probeTimeout)
		}
	}
	for _, path := range []string{"/configs", "/run/pannier"} {
		if a, b := mounted(sidecar, path), mounted(agent, path); a == "" || a != b {
			t.Errorf("at %s are the volumes %q and %q", path, a, b)
		}
	}
	if mounted(sidecar, "/var/lib/pannier") == "" || pod.at("securityContext", "fsGroup") == nil {
		t.Error("there is no place for the state, or nobody may use the socket")
	}
	if s := podSettings(t, sidecar); s.Workspace != "/configs" || s.TCP.Listen != ":9090" {
		t.Errorf("settings %+v", s)
	}
}

func texts(list []any) []string {
	var all []string
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// mounted returns the volume that a container has at a path.
func mounted(c object, path string) string {
	for _, m := range c.each("volumeMounts") {
		if m.text("mountPath") == path {
			return m.text("name")
		}
	}
	return ""
}

// TestNetworkPolicyGuardsMetrics holds the policy against the pod: it selects it, and opens the port of the metrics to
// Prometheus alone.
func TestNetworkPolicyGuardsMetrics(t *testing.T) {
	const dir = "kubernetes/base"
	if resources, _ := documents(t, filepath.Join(deployDir, dir, "kustomization.yaml"))[0].at("resources").([]any); !slices.Contains(resources, any("networkpolicy.yaml")) {
		t.Errorf("the resources are %v", resources)
	}
	policy := documents(t, filepath.Join(deployDir, dir, "networkpolicy.yaml"))[0]
	labels := documents(t, filepath.Join(deployDir, dir, "agent.yaml"))[0].at("spec", "template", "metadata", "labels")
	if selected := policy.at("spec", "podSelector", "matchLabels"); !reflect.DeepEqual(selected, labels) {
		t.Errorf("the policy selects %v, the pod has %v", selected, labels)
	}
	for _, rule := range policy.each("spec", "ingress") {
		for _, port := range rule.each("ports") {
			first, _ := port.at("port").(float64)
			last, ranged := port.at("endPort").(float64)
			if !ranged {
				last = first
			}
			if open := len(rule.each("from")) == 0; open == (first <= 9090 && 9090 <= last) {
				t.Errorf("ports %v to %v are open to all: %t", first, last, open)
			}
		}
	}
}

// podSettings reads the variables of a container as the sidecar does, with those of the image. One that is no setting is an
// error.
func podSettings(t *testing.T, c object) config.Settings {
	t.Helper()
	environ := append([]string{"HOME=/home/nonroot"}, strings.Fields(last(t, dockerfile(t), "ENV"))...)
	for _, v := range c.each("env") {
		environ = append(environ, v.text("name")+"="+v.text("value"))
	}
	s, err := config.Load(nil, environ)
	if err != nil {
		t.Fatalf("%s: %v", c.text("name"), err)
	}
	return s
}

func TestPodOverTCP(t *testing.T) {
	patch := deployment(t, "kubernetes/tcp/patch.yaml")
	sidecar := patch.each("initContainers")[0]
	s := podSettings(t, sidecar)
	dir := filepath.Dir(s.TCP.APITokens)
	if s.TCP.APIListen == "" || dir != filepath.Dir(s.TCP.WebConfig) || mounted(sidecar, dir) == "" {
		t.Errorf("api_listen %q, api_tokens %q, web_config %q", s.TCP.APIListen, s.TCP.APITokens, s.TCP.WebConfig)
	}
	for _, o := range documents(t, filepath.Join(deployDir, "kubernetes/tcp/service.yaml")) {
		if o.text("kind") == "ConfigMap" {
			web, faults, err := yamldoc.Parse([]byte(o.text("data", filepath.Base(s.TCP.WebConfig))))
			if err != nil || len(faults) > 0 || !strings.Contains(string(web.JSON()), `"cert_file":"tls.crt"`) {
				t.Errorf("web_config: %v %v %s", err, faults, web.JSON())
			}
		}
		if o.text("kind") == "Service" {
			for _, port := range o.each("spec", "ports") {
				if !hasPort(sidecar, port["targetPort"]) {
					t.Errorf("the service leads to the port %v, which is no number of the sidecar's: names of a native sidecar's ports are not found before Kubernetes 1.32", port["targetPort"])
				}
			}
		}
		if o.text("kind") == "Service" && strings.HasPrefix(o.text("metadata", "name"), "pannier") {
			t.Error("the variables of that service would look like settings")
		}
	}
}

// hasPort reports whether a container has the port of that number.
func hasPort(c object, number any) bool {
	return slices.ContainsFunc(c.each("ports"), func(p object) bool { return p["containerPort"] == number })
}

// TestProbesLeaveTimeToAlerts: a restart must not come before Prometheus has seen what is wrong.
func TestProbesLeaveTimeToAlerts(t *testing.T) {
	sidecar := deployment(t, "kubernetes/base/agent.yaml").each("initContainers")[0]
	for probe, least := range map[string]float64{"startupProbe": 600, "livenessProbe": 60} {
		period, _ := sidecar.at(probe, "periodSeconds").(float64)
		times, _ := sidecar.at(probe, "failureThreshold").(float64)
		if period*times < least {
			t.Errorf("%s gives up after %v seconds, want %v", probe, period*times, least)
		}
	}
}

// TestKustomize has kubectl put the manifests together, where there is one.
func TestKustomize(t *testing.T) {
	t.Parallel()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("there is no kubectl")
	}
	for dir, want := range map[string]string{"base": "PANNIER_LISTEN", "tcp": "PANNIER_API_LISTEN"} {
		out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join(deployDir, "kubernetes", dir)).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(want)) || !bytes.Contains(out, []byte("PANNIER_WORKSPACE")) {
			t.Errorf("%s: %v\n%s", dir, err, out)
		}
	}
}

func TestComposeOverTCP(t *testing.T) {
	o := documents(t, filepath.Join(deployDir, "docker-compose.yml"))[0]
	variables, _ := o.at("services", "pannier", "environment").(map[string]any)
	var environ []string
	for name, value := range variables {
		environ = append(environ, fmt.Sprintf("%s=%v", name, value))
	}
	s, err := config.Load(nil, append(environ, "HOME=/"))
	if err != nil || s.TCP.Listen == "" || s.TCP.APIListen == "" || !strings.HasPrefix(s.TCP.APITokens, "/run/secrets/") {
		t.Fatalf("%v: %+v", err, s)
	}
	if o.at("secrets", filepath.Base(s.TCP.APITokens), "file") == nil {
		t.Errorf("there is no secret %s", s.TCP.APITokens)
	}
	for _, port := range texts(o.at("services", "pannier", "ports").([]any)) {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("the port %s is published to others, and there is no TLS", port)
		}
	}
}

// unit returns the settings of the unit; one that is repeated has several values.
func unit(t *testing.T) (path string, settings map[string][]string) {
	t.Helper()
	path = filepath.Join(deployDir, "systemd/pannier.service")
	text := must(os.ReadFile(path))(t)
	settings = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return path, settings
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	path, settings := unit(t)
	for key, want := range map[string]string{
		"Type": "notify", "DynamicUser": "yes", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
		"RuntimeDirectory": "pannier", "StateDirectory": "pannier", "Restart": "on-failure",
	} {
		if got := settings[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s=%q, want %q", key, got, want)
		}
	}
	if manual := settings["Documentation"]; len(manual) > 0 {
		t.Errorf("Documentation=%q, and nobody installs a manual", manual)
	}
	if len(settings["WatchdogSec"]) != 1 {
		t.Errorf("WatchdogSec=%q", settings["WatchdogSec"])
	}
	command := strings.Fields(settings["ExecStart"][0])
	checkCommand(t, "ExecStart", command[1:])
	s, err := config.Load(nil, append(strings.Fields(settings["Environment"][0]), "HOME=/"))
	if err != nil || filepath.Dir(s.Socket.Path) != "/run/pannier" || s.StateDir != "/var/lib/pannier" {
		t.Errorf("%v: socket %s, state %s", err, s.Socket.Path, s.StateDir)
	}
	verifyUnit(t, path, command[0])
}

// verifyUnit has systemd judge the unit, with the built binary in the place of the one that it names.
func verifyUnit(t *testing.T, path, command string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("there is no systemd-analyze")
		return
	}
	text := must(os.ReadFile(path))(t)
	judged := filepath.Join(t.TempDir(), filepath.Base(path))
	text = bytes.ReplaceAll(text, []byte("ExecStart="+command), []byte("ExecStart="+binary))
	need(t, os.WriteFile(judged, text, 0o644))
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", judged).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestManualKnowsTheVariables finds each variable that a manifest or its comments name among the settings and the flags of remote commands.
func TestManualKnowsTheVariables(t *testing.T) {
	t.Parallel()
	help, code := runCommand(t, nil, "help", "settings")
	remote, code2 := runCommand(t, nil, "list", "--help")
	if code != exitYes || code2 != exitYes {
		t.Fatal(help, remote)
	}
	help += remote
	named := map[string]bool{}
	for _, path := range append(manifests(t, ".", ".yaml", ".yml", ".service", ".md"), "../../docs/DEPLOY.md") {
		text := must(os.ReadFile(path))(t)
		for _, name := range regexp.MustCompile(`\bPANNIER_[A-Z_]+\b`).FindAllString(string(text), -1) {
			named[name] = true
		}
	}
	for name := range named {
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "PANNIER_"), "_", "-"))
		if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b[^-]`).MatchString(help) {
			t.Errorf("%s is no variable of pannier", name)
		}
	}
	if len(named) < 8 {
		t.Errorf("only %v were found: the test does not see them", slices.Sorted(maps.Keys(named)))
	}
}
