package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listenAddress returns where a sidecar with --listen listens.
func (s *sidecarUnderTest) listenAddress(t *testing.T) string {
	return s.loggedAddress(t, "serving metrics and probes: address=")
}

// loggedAddress returns what follows a text in the log.
func (s *sidecarUnderTest) loggedAddress(t *testing.T, after string) string {
	t.Helper()
	s.logs(t, after)
	_, rest, _ := strings.Cut(s.log.String(), after)
	return strings.Fields(rest)[0]
}

// fetch returns the status and the body of an answer; each request has a connection of its own.
func fetch(t *testing.T, c *http.Client, url, user, password string) (int, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	req.Close = true
	res := must(c.Do(req))(t)
	defer res.Body.Close()
	body := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(body)
}

// checkProbes fetches all that there is, and some that there is not.
func checkProbes(t *testing.T, c *http.Client, base, user, password string) {
	t.Helper()
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n", "/livez": "alive\n", "/metrics": "pannier_build_info"} {
		if status, body := fetch(t, c, base+path, user, password); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.200s, want %q", path, status, body, want)
		}
	}
	for _, path := range []string{"/", "/v1/skills", "/v1/health", "/v1/card", "/.well-known/agent-card.json", "/debug/pprof/"} {
		if status, body := fetch(t, c, base+path, user, password); status != http.StatusNotFound || !strings.Contains(body, "no_such_route") {
			t.Errorf("%s: %d %.200s, want 404", path, status, body)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--listen", "127.0.0.1:0", "--resync", "10s")
	checkProbes(t, http.DefaultClient, "http://"+s.listenAddress(t), "", "")
	for _, path := range []string{"/healthz", "/livez"} {
		if status, body := fetch(t, &s.HTTP, "http://pannier"+path, "", ""); status != http.StatusOK {
			t.Errorf("%s on the socket: %d %s", path, status, body)
		}
	}
	s.stops(t)
}

// The hash is of that password.
const (
	webPassword = "fakepassword"
	webHash     = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
)

func TestListenWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trusted := writeCertificate(t, dir)
	file := filepath.Join(dir, "web.yml")
	text := "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {prometheus: '" + webHash + "'}\n"
	need(t, os.WriteFile(file, []byte(text), 0o600))
	s := startSidecar(t, newWorkspace(t), "--listen", "127.0.0.1:0", "--web-config", file)
	address := s.listenAddress(t)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	checkProbes(t, c, "https://"+address, "prometheus", webPassword)
	for _, password := range []string{"", "wrong"} {
		if status, body := fetch(t, c, "https://"+address+"/metrics", "prometheus", password); status != http.StatusUnauthorized {
			t.Errorf("password %q: %d %.200s", password, status, body)
		}
	}
	if status, body := fetch(t, http.DefaultClient, "http://"+address+"/livez", "", ""); status != http.StatusBadRequest {
		t.Errorf("without TLS: %d %.200s", status, body)
	}
	s.stops(t)
	if log := s.log.String(); strings.Contains(log, webPassword) || strings.Contains(log, webHash) {
		t.Error("the log holds the password")
	}
}

func TestListenReadsWebConfigAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yml")
	write := func(text string) {
		t.Helper()
		need(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("basic_auth_users: {prometheus: '" + webHash + "'}\n")
	s := startSidecar(t, newWorkspace(t), "--listen", "127.0.0.1:0", "--web-config", file)
	url := "http://" + s.listenAddress(t) + "/livez"
	for _, step := range []struct {
		text, user string
		status     int
	}{
		{"basic_auth_users: {prometheus: '" + webHash + "'}\n", "prometheus", http.StatusOK},
		{"basic_auth_users: {other: '" + webHash + "'}\n", "prometheus", http.StatusUnauthorized},
		{"basic_auth_users: {other: '" + webHash + "'}\n", "other", http.StatusOK},
		{"basic_auth_users: [\n", "other", http.StatusInternalServerError},
	} {
		write(step.text)
		if status, body := fetch(t, http.DefaultClient, url, step.user, webPassword); status != step.status {
			t.Errorf("%s after %q: %d %.200s, want %d", step.user, step.text, status, body, step.status)
		}
	}
	s.logs(t, "[ERROR] pannier.listen: ")
}

// writeCertificate writes cert.pem and key.pem for 127.0.0.1 and returns the pool that trusts them.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pannier test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IsCA: true, BasicConstraintsValid: true,
	}
	cert := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	encoded := must(x509.MarshalPKCS8PrivateKey(key))(t)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	need(t, errors.Join(os.WriteFile(filepath.Join(dir, "cert.pem"), certPEM, 0o600), os.WriteFile(filepath.Join(dir, "key.pem"), keyPEM, 0o600)))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool
}

// refused runs a sidecar that can not start, and returns what it says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	socket := filepath.Join(shortDir(t), "s")
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"run", "--workspace", newWorkspace(t), "--socket", socket, "--state-dir", "none"}, args...)...)
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitUnknown {
		t.Fatalf("%v, want exit code %d\n%s", err, exitUnknown, out)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	return string(out)
}

func TestListenOnBusyPort(t *testing.T) {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	out := refused(t, "--listen", ln.Addr().String())
	want := fmt.Sprintf("pannier: listen tcp %s: bind: address already in use\nhint: another process has that port; choose another one with --listen\n", ln.Addr())
	if out != want {
		t.Errorf("said %q, want %q", out, want)
	}
}

func TestListenWithBadWebConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, `printf 'tls_server_config: {cert_file: none.pem, key_file: none.pem}\n' > cert.yml; printf 'users: {}\n' > unknown.yml`)
	for file, want := range map[string]string{"cert.yml": "none.pem", "unknown.yml": "users", "missing.yml": "no such file"} {
		out := refused(t, "--listen", "127.0.0.1:0", "--web-config", filepath.Join(dir, file))
		if !strings.HasPrefix(out, "pannier: web_config "+dir+"/"+file+": ") || !strings.Contains(out, want) || !strings.Contains(out, "\nhint: ") {
			t.Errorf("%s: said %q, want %q in it", file, out, want)
		}
	}
}
