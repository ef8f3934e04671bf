package platform_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/publish/platform"
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
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a TLS server on 127.0.0.1 with a certificate of the authority.
func (a authority) serve(t *testing.T, until time.Time, names ...string) *httptest.Server {
	t.Helper()
	template := x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	own := newCertificate(t, a, template)
	s := httptest.NewUnstartedServer(status(200, `{"status":"updated"}`))
	s.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own.cert.Raw}, PrivateKey: own.key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
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
			got, h := follows(t, platform.Options{URL: test.server.URL, CAFile: test.ca}, &requests)
			if got != test.follows || !strings.Contains(h.LastError, test.message) || !strings.Contains(h.Hint, test.hint) {
				t.Errorf("%s, %+v", got, h)
			}
		})
	}
}
