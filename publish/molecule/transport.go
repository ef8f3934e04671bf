package molecule

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// maxCAFileBytes is far more than a file of authorities has.
const maxCAFileBytes = 16 << 20

// network is the transport to the platform. The CA file is checked before each request, and a changed one makes a new
// transport, since authorities are replaced while pannier runs. While the file cannot be used, the authorities before
// it count; if there are none, nothing is sent: the system's alone are not what the operator asked for.
type network struct {
	caFile string // empty for none
	// broken says why the present CA file is not used; nil if it is.
	broken atomic.Pointer[caFault]

	mu    sync.Mutex
	now   *http.Transport
	stamp fsx.Stamp // of the CA file in use; zero before the first
}

type caFault struct {
	err   string
	since time.Time
}

// errAuthorities says that the CA file could never be read.
var errAuthorities = errors.New("nothing is sent to the platform before its authorities can be read")

// newNetwork reads the CA file, if there is one. One that cannot be read is not an error: a sidecar that did not start
// would take the agent's skills away as well.
func newNetwork(o Options) *network {
	n := &network{caFile: o.CAFile, now: newTransport()}
	if o.Dial != nil {
		n.now.DialContext, n.now.Proxy = o.Dial, nil
	}
	n.now.TLSClientConfig.RootCAs = o.RootCAs
	if o.HeaderTimeout > 0 {
		n.now.ResponseHeaderTimeout = o.HeaderTimeout
	}
	_ = n.checkCAFile() // which records the fault
	return n
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: proxy,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &tunnelError{resp.StatusCode}
		},
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           2, // peers are read beside the pushes
		MaxResponseHeaderBytes: maxAnswerBytes,
		TLSClientConfig:        &tls.Config{},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silenceTimeout, PingTimeout: silencePing},
	}
}

// RoundTrip makes a request with the present authorities.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	err := n.checkCAFile()
	t := n.now
	n.mu.Unlock()
	if errors.Is(err, errAuthorities) {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper has to
		}
		return nil, err
	}
	return t.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request is on.
func (n *network) CloseIdleConnections() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.CloseIdleConnections()
}

// checkCAFile reloads the CA file if it has changed, and records whether it can be used. The caller holds mu.
func (n *network) checkCAFile() error {
	if n.caFile == "" {
		return nil
	}
	err := n.reloadCAFile()
	switch {
	case err == nil:
		n.broken.Store(nil)
		return nil
	case n.stamp == fsx.Stamp{}:
		err = fmt.Errorf("%w: %w", errAuthorities, err)
	default:
		err = fmt.Errorf("the authorities that were read last are trusted still: %w", err)
	}
	if before := n.broken.Load(); before == nil || before.err != err.Error() {
		n.broken.Store(&caFault{err.Error(), time.Now()})
	}
	return err
}

// reloadCAFile makes a new transport if the CA file has changed.
func (n *network) reloadCAFile() error {
	info, err := os.Stat(n.caFile)
	if err != nil || fsx.StampOf(info) == n.stamp {
		return err
	}
	roots, err := rootsWith(n.caFile)
	if err != nil {
		return err
	}
	before := n.now
	n.now, n.stamp = before.Clone(), fsx.StampOf(info)
	n.now.TLSClientConfig.RootCAs = roots
	before.CloseIdleConnections() // the old authorities vouched for them
	return nil
}

// conditions reports a CA file that is not used. It is checked again first, since the next request may be minutes away;
// not during another check, so that a disk that does not answer blocks one caller and not all.
func (n *network) conditions(subject string) []pannier.Condition {
	if n.broken.Load() != nil && n.mu.TryLock() {
		_ = n.checkCAFile() // which records the fault
		n.mu.Unlock()
	}
	f := n.broken.Load()
	if f == nil {
		return nil
	}
	return []pannier.Condition{{Code: "ca_file_unreadable", Severity: pannier.SeverityWarning, Since: f.since, Subject: subject, Message: f.err, Hint: hintCAFile}}
}

func rootsWith(caFile string) (*x509.CertPool, error) {
	pem, _, err := fsx.ReadRegular(caFile, 0, maxCAFileBytes)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if len(pem) > maxCAFileBytes || !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", caFile)
	}
	return roots, nil
}

// tunnelError is a proxy that refuses a tunnel to the platform.
type tunnelError struct{ status int }

func (e *tunnelError) Error() string {
	return fmt.Sprintf("the proxy answered CONNECT with %d %s", e.status, http.StatusText(e.status))
}

// errProxy says that the proxy of the environment cannot be used. It does not quote the variable, which may hold a
// password.
var errProxy = errors.New("the proxy that the environment names is not a valid URL")

// proxy returns the proxy of the environment. net/http ignores one that is not a URL and would send the token past the
// proxy that the operator prescribes, so that is an error.
func proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err != nil || u == nil && misnamedProxy(r.URL) {
		return nil, errProxy
	}
	return u, nil
}

// misnamedProxy reports whether the proxy variable for an address is not a URL, and NO_PROXY does not list the address.
// Of NO_PROXY, names, addresses and suffixes of names count; networks and ports do not.
func misnamedProxy(to *url.URL) bool {
	name := cmp.Or(os.Getenv("HTTP_PROXY"), os.Getenv("http_proxy"))
	if to.Scheme == "https" {
		name = cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy"))
	}
	if name == "" || isProxy(name) || isProxy("http://"+name) {
		return false
	}
	host := strings.ToLower(to.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return false
	}
	for exception := range strings.SplitSeq(strings.ToLower(cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))), ",") {
		bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(exception), "*"), ".")
		if strings.TrimSpace(exception) == "*" || bare != "" && (host == bare || strings.HasSuffix(host, "."+bare)) {
			return false
		}
	}
	return true
}

func isProxy(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != ""
}
