package api_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pannier/publish/api"
)

func TestFailuresAreDelayed(t *testing.T) {
	throttle, now := api.NewThrottle(), time.Unix(1000, 0)
	guesser, other := api.AddressOf("192.0.2.1:1"), api.AddressOf("192.0.2.2:1")
	var delays []time.Duration
	for range 16 {
		delays = append(delays, throttle.Fail(guesser, now))
	}
	if want := []time.Duration{0, 100e6, 200e6, 400e6, 800e6, 1600e6, 2e9}; !slices.Equal(delays[9:], want) {
		t.Errorf("delays %v, want %v after nine of none", delays, want)
	}
	if d := throttle.Fail(other, now); d != 0 {
		t.Errorf("another address waits %v", d)
	}
	if d := throttle.Fail(guesser, now.Add(2*time.Minute)); d != 0 {
		t.Errorf("after a pause: %v", d)
	}
	for range 20 {
		throttle.Fail(guesser, now)
	}
	throttle.Forget(guesser)
	if d := throttle.Fail(guesser, now); d != 0 {
		t.Errorf("after a good token: %v", d)
	}
}

func TestFailingAddressesAreBounded(t *testing.T) {
	throttle := api.NewThrottle()
	for i := range 2 * api.MaxFailing {
		throttle.Fail(api.AddressOf(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)), time.Unix(int64(i), 0))
	}
	if n := throttle.Len(); n != api.MaxFailing {
		t.Errorf("%d addresses are remembered, want %d", n, api.MaxFailing)
	}
}

func TestAddressOf(t *testing.T) {
	for hostport, want := range map[string]string{
		"192.0.2.1:80":             "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":    "192.0.2.1/32",
		"[2001:db8:1:2:3::4]:80":   "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":        "fe80::/64",
		"@":                        "invalid Prefix",
		(&net.UnixAddr{}).String(): "invalid Prefix",
	} {
		if got := api.AddressOf(hostport); got.String() != want || got.IsValid() != (got != netip.Prefix{}) {
			t.Errorf("%q: %s, want %s", hostport, got, want)
		}
	}
}

// TestAddressesHaveFewConnectionsWithoutToken opens more silent connections than one address may have: the oldest is closed,
// those that brought a token and those of another address are not.
func TestAddressesHaveFewConnectionsWithoutToken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := api.LimitAnonymous(ln, 1000, 3)
	defer limited.Close()
	dial := func(source string) (near, far net.Conn) {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		near, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close() })
		if far, err = limited.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { far.Close() })
		return near, far
	}
	open := func(conn net.Conn) bool {
		_, err := conn.Write([]byte("x"))
		return err == nil
	}
	_, proven := dial("127.0.0.1")
	api.Prove(proven)
	_, other := dial("127.0.0.2")
	var conns []net.Conn
	for range 5 {
		_, conn := dial("127.0.0.1")
		conns = append(conns, conn)
	}
	for i, conn := range conns {
		if got := open(conn); got != (i >= 2) {
			t.Errorf("connection %d is open: %t", i, got)
		}
	}
	if !open(proven) || !open(other) {
		t.Error("a connection with a token, or of another address, was closed")
	}
}
