package client_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pannier/publish/client"
)

func held(token string) func() (string, error) {
	return func() (string, error) { return token, nil }
}

// answering is a server that answers as health is answered, to whoever has the token.
func answering(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer secret-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Write([]byte(`{"status":"ok","workspace":"` + r.Host + `"}`))
}

func TestRemote(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(answering))
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	for name, tt := range map[string]struct {
		remote client.Remote
		fails  string
	}{
		"trusted":      {client.Remote{URL: server.URL, Token: held("secret-token"), CAs: trusted}, ""},
		"with a slash": {client.Remote{URL: server.URL + "/", Token: held("secret-token"), CAs: trusted}, ""},
		"not trusted":  {client.Remote{URL: server.URL, Token: held("secret-token"), CAs: x509.NewCertPool()}, "certificate"},
		"no TLS":       {client.Remote{URL: "http" + strings.TrimPrefix(server.URL, "https"), Token: held("secret-token")}, ""},
		"other token":  {client.Remote{URL: server.URL, Token: held("other-token"), CAs: trusted}, "401"},
		"two lines":    {client.Remote{URL: server.URL, Token: held("secret-token\nx"), CAs: trusted}, "no token can"},
		"no token":     {client.Remote{URL: server.URL, Token: func() (string, error) { return "", errors.New("not there") }, CAs: trusted}, "not there"},
	} {
		c, err := client.NewRemote(tt.remote)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h, err := c.Health(t.Context())
		switch {
		case name == "no TLS" && err != nil, tt.fails != "" && err != nil && strings.Contains(err.Error(), tt.fails):
			if strings.Contains(err.Error(), "-token") {
				t.Errorf("%s: the error holds the token: %v", name, err)
			}
		case tt.fails != "" || name == "no TLS" || err != nil || h.Workspace != strings.TrimPrefix(server.URL, "https://"):
			t.Errorf("%s: %+v, %v", name, h, err)
		}
		c.Close()
	}
}

// TestRemoteFollowsNoRedirect does not carry the token to where somebody else says.
func TestRemoteFollowsNoRedirect(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, err := client.NewRemote(client.Remote{URL: server.URL, Token: held("secret-token")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Health(t.Context()); err == nil || asked {
		t.Errorf("%v, asked elsewhere: %t", err, asked)
	}
}

func TestRemoteAddresses(t *testing.T) {
	for _, url := range []string{"", "x", "ftp://x", "https://", "https://x/v1", "https://x?a=b", "https://u:secret-token@x", "https://x:y:z\x7fsecret-token"} {
		if c, err := client.NewRemote(client.Remote{URL: url, Token: held("t")}); err == nil || c != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
