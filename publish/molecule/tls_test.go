package molecule_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// authority is one that makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	now := time.Now()
	return newCertificate(t, authority{}, x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
}

// newCertificate makes a certificate, by itself where by has none.
func newCertificate(t *testing.T, by authority, template x509.Certificate) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by.cert == nil {
		by = authority{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

// file writes the certificate of the authority.
func (a authority) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	replaceFile(t, path, a.pem())
	return path
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// replaceFile puts a text in the place of a file at once.
func replaceFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestAuthorityThatIsReplaced counts from the next request on; one that can not be read leaves the one before.
func TestAuthorityThatIsReplaced(t *testing.T) {
	old, renewed := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	first, second := old.serve(t, soon), renewed.serve(t, soon)
	ca, e := old.file(t), newEvents()
	p := newPublisher(t, options{URL: first.URL, CAFile: ca, Emit: e.emit})
	var moved atomic.Bool
	p.SetDial(func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr := first.Listener.Addr().String()
		if moved.Load() {
			addr = second.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	p.SetJitter(func(most time.Duration) time.Duration { return min(most, 10*time.Millisecond) })
	stop := start(t, p)
	push := func(name string) {
		t.Helper()
		p.Offer(cardOf(name))
		if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Digest != cardOf(name).Digest {
			t.Fatalf("event %v %+v", kind, push)
		}
	}
	push("a")
	for i, broken := range []func(){
		func() { replaceFile(t, ca, []byte("nothing")) },
		func() { replaceFile(t, ca, nil) },
		func() {
			if err := os.Remove(ca); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			if err := syscall.Mkfifo(ca, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		broken()
		push(fmt.Sprint("b", i))
		if got := codes(p); got != "ca_file_unreadable warning" {
			t.Errorf("conditions %q", got)
		}
	}
	moved.Store(true)
	replaceFile(t, ca, renewed.pem())
	push("c")
	if got := codes(p); got != "" {
		t.Errorf("conditions %q", got)
	}
	stop()
}

// TestAuthorityThatIsMended is no condition any more, also where no request is made.
func TestAuthorityThatIsMended(t *testing.T) {
	a := newAuthority(t)
	s, ca, e := a.serve(t, time.Now().Add(time.Hour)), a.file(t), newEvents()
	p := newPublisher(t, options{URL: s.URL, CAFile: ca, Emit: e.emit})
	stop := start(t, p)
	replaceFile(t, ca, []byte("nothing"))
	p.Offer(cardOf("a"))
	if kind, push := e.await(t); kind != pannier.EventCardPushed {
		t.Fatalf("event %v %+v", kind, push)
	}
	stop()
	if got := codes(p); got != "ca_file_unreadable warning" {
		t.Errorf("conditions %q", got)
	}
	replaceFile(t, ca, a.pem())
	if got := codes(p); got != "" {
		t.Errorf("conditions %q", got)
	}
}

// TestAuthorityThatComesLate: nothing is sent before it is there, and the card behind it.
func TestAuthorityThatComesLate(t *testing.T) {
	a := newAuthority(t)
	s := a.serve(t, time.Now().Add(time.Hour))
	for _, test := range []struct {
		name   string
		before func(path string) error
		want   string
	}{
		{"missing", func(string) error { return nil }, "no such file or directory"},
		{"empty", func(path string) error { return os.WriteFile(path, nil, 0o600) }, "holds no PEM certificate"},
		{"no PEM", func(path string) error { return os.WriteFile(path, []byte("nothing"), 0o600) }, "holds no PEM certificate"},
		{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		{"directory", func(path string) error { return os.Mkdir(path, 0o700) }, "is not a regular file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ca, e := filepath.Join(t.TempDir(), "ca.pem"), newEvents()
			if err := test.before(ca); err != nil {
				t.Fatal(err)
			}
			told := make(tries, 10)
			p := newPublisher(t, options{URL: s.URL, CAFile: ca, Emit: e.emit, Logger: hclog.New(&hclog.LoggerOptions{Output: told, Exclude: func(_ hclog.Level, message string, _ ...any) bool {
				return !strings.HasPrefix(message, "card ")
			}})})
			var dials atomic.Int32
			p.SetDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, addr)
			})
			p.SetJitter(func(most time.Duration) time.Duration { return min(most, 10*time.Millisecond) })
			if got := p.Conditions(); len(got) != 1 || got[0].Code != "ca_file_unreadable" || !strings.Contains(got[0].Message, test.want) || got[0].Hint == "" {
				t.Errorf("conditions %+v", got)
			}
			stop := start(t, offered(p, "a"))
			<-told
			if h := p.Health(); !strings.Contains(h.LastError, "nothing is sent to the platform before") || !strings.Contains(h.Hint, "ca_file") || dials.Load() > 0 {
				t.Errorf("%d connections, health %+v", dials.Load(), h)
			}
			if err := os.RemoveAll(ca); err != nil {
				t.Fatal(err)
			}
			replaceFile(t, ca, a.pem())
			if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Digest != cardOf("a").Digest {
				t.Errorf("event %v %+v", kind, push)
			}
			stop()
		})
	}
}

// serve starts a TLS server on 127.0.0.1 with a certificate of the authority.
func (a authority) serve(t *testing.T, until time.Time, names ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(status(200, `{"status":"updated"}`))
	s.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.certificate(t, until, names...)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate makes one for these names, or for 127.0.0.1.
func (a authority) certificate(t *testing.T, until time.Time, names ...string) tls.Certificate {
	t.Helper()
	template := x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	own := newCertificate(t, a, template)
	return tls.Certificate{Certificate: [][]byte{own.cert.Raw}, PrivateKey: own.key}
}

// TestCertificates are checked against the authority of the settings, and what is wrong with one is told.
func TestCertificates(t *testing.T) {
	known, other := newAuthority(t), newAuthority(t)
	soon, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for _, test := range []struct {
		name    string
		server  *httptest.Server
		ca      string
		follows string
		message string
		hint    string
	}{
		{"good", known.serve(t, soon), known.file(t), done, "", ""},
		{"another authority", known.serve(t, soon), other.file(t), retry, "unknown authority", "ca_file"},
		{"no authority", known.serve(t, soon), "", retry, "unknown authority", "ca_file"},
		{"expired", known.serve(t, ago), known.file(t), retry, "expired", "renew"},
		{"another name", known.serve(t, soon, "platform.example"), known.file(t), retry, "127.0.0.1", "other names"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests atomic.Int32
			got, h := follows(t, options{URL: test.server.URL, CAFile: test.ca}, &requests)
			if got != test.follows || !strings.Contains(h.LastError, test.message) || !strings.Contains(h.Hint, test.hint) {
				t.Errorf("%s, %+v", got, h)
			}
		})
	}
}
