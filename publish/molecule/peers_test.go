package molecule_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/push"
)

const (
	peerA = "aaaaaaaa-3c0e-4d0a-9d5f-1f0c9a7b1e11"
	peerB = "bbbbbbbb-3c0e-4d0a-9d5f-1f0c9a7b1e11"
)

// TestPeers are there after the start. A new one is read soon after its event, in up to 2.25 s; the event of a known one
// brings its card itself.
func TestPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.join(t, peerB, `{"name":"Echo"}`)
		p := on(t, l, options{Events: true, Peers: true})
		stop := start(t, offered(p, "a"))
		synctest.Wait()
		first := p.Peers()
		if ids(first) != peerB || string(first[0].Card) != `{"name":"Echo"}` || first[0].Status != "online" || first[0].UpdatedAt.IsZero() {
			t.Fatalf("%+v", first)
		}
		pass(30 * time.Second)
		l.join(t, peerA, `{"name":"Alpha"}`)
		pass(200 * time.Millisecond)
		if ids(p.Peers()) != peerB {
			t.Errorf("too early: %s", ids(p.Peers()))
		}
		pass(2100 * time.Millisecond)
		now := p.Peers()
		if ids(now) != peerA+" "+peerB || !now[1].UpdatedAt.Equal(first[0].UpdatedAt) || !now[0].UpdatedAt.After(first[0].UpdatedAt) {
			t.Errorf("%+v", now)
		}
		pass(10 * time.Second)
		l.count(peersCall)
		l.join(t, peerB, `{"name":"Echo 2"}`)
		synctest.Wait()
		if last := p.Peers(); string(last[1].Card) != `{"name":"Echo 2"}` || last[1].UpdatedAt.Equal(now[1].UpdatedAt) || string(now[1].Card) != `{"name":"Echo"}` {
			t.Errorf("%+v, before %+v", last, now)
		}
		pass(time.Minute)
		if n := l.count(peersCall); n > 0 {
			t.Errorf("read %d times for an event of a known peer", n)
		}
		stop()
	})
}

// TestPeersAreReadWhenAsked: they are read within a minute of the start, and at once if a client asks for them, who waits
// a second at most.
func TestPeersAreReadWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.join(t, peerA, `{}`)
		p := on(t, l, options{Events: true, Peers: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(59 * time.Second)
		if n := l.count(peersCall); n != 0 {
			t.Errorf("read %d times before anything asked", n)
		}
		pass(2 * time.Second)
		if n := l.count(peersCall); n != 1 {
			t.Errorf("read %d times in the first minute", n)
		}
		stop()

		p = on(t, l, options{Events: true, Peers: true, ReadBack: true})
		stop = start(t, offered(p, "a"))
		pass(5 * time.Second)
		if got := ids(p.Peers()); got != peerA || l.count(peersCall) != 1 {
			t.Errorf("peers %q", got)
		}
		stop()

		hold := make(chan struct{})
		l.set(func(_ http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/peers") {
				<-hold
			}
		})
		p = on(t, l, options{Events: true, Peers: true, ReadBack: true})
		stop = start(t, offered(p, "a"))
		pass(5 * time.Second)
		begun := time.Now()
		if got := ids(p.Peers()); got != "" || time.Since(begun) != time.Second {
			t.Errorf("peers %q after %v", got, time.Since(begun))
		}
		close(hold)
		synctest.Wait()
		if got := ids(p.Peers()); got != peerA {
			t.Errorf("peers %q", got)
		}
		stop()
	})
}

// TestPeersAreReadNowAndThen: every five minutes without an event stream, and no more often with one that does not stop
// reporting new cards of peers, nor more than every ten seconds where new workspaces keep coming.
func TestPeersAreReadNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Peers: true})
		stop := start(t, offered(p, "a"))
		ask(p)
		l.join(t, peerA, `{}`)
		pass(time.Hour)
		if n := l.count(peersCall); n < 11 || n > 14 || ids(p.Peers()) != peerA {
			t.Errorf("read %d times in an hour: %s", n, ids(p.Peers()))
		}
		stop()

		p = on(t, l, options{Events: true, Peers: true})
		stop = start(t, offered(p, "a"))
		ask(p)
		pass(10 * time.Second)
		l.count(peersCall)
		for i := range 600 {
			l.join(t, peerA, fmt.Sprintf(`{"name":"%d"}`, i))
			pass(100 * time.Millisecond)
		}
		synctest.Wait()
		if n := l.count(peersCall); n > 1 {
			t.Errorf("read %d times in a minute of events of one peer", n)
		}
		if last := p.Peers(); len(last) != 1 || string(last[0].Card) != `{"name":"599"}` {
			t.Errorf("%s", last[0].Card)
		}
		for i := range 60 {
			l.join(t, fmt.Sprintf("cccccccc-3c0e-4d0a-9d5f-%012d", i), `{}`)
			pass(time.Second)
		}
		pass(13 * time.Second)
		if n := l.count(peersCall); n < 5 || n > 8 {
			t.Errorf("read %d times in a minute of new peers", n)
		}
		if n := len(p.Peers()); n != 61 {
			t.Errorf("%d peers", n)
		}
		stop()
	})
}

// TestPeersWhileThePlatformIsAway are those of before, and health says so.
func TestPeersWhileThePlatformIsAway(t *testing.T) {
	for _, test := range []struct {
		name        string
		answer      http.HandlerFunc
		least, most int // readings in an hour
		condition   string
		message     string
	}{
		{"failing", status(500, `{"error":"failed to list peers"}`), 100, 140, "peers_stale info", "500 Internal Server Error: failed to list peers"},
		{"unauthorized", status(401, `{"error":"invalid workspace auth token"}`), 95, 151, "peers_stale warning", "401"},
		{"unknown", status(404, `{"error":"workspace not found"}`), 9, 14, "peers_stale info", "404"},
		{"throttled", status(429, "", "Retry-After", "120"), 28, 31, "platform_rate_limited warning, peers_stale info", "429"},
		{"null", status(200, "null"), 95, 151, "peers_stale info", "not a list of peers"},
		{"a page", status(200, "<html>"), 95, 151, "peers_stale info", "not a list of peers"},
		{"half a list", status(200, `[{"id":"x"`), 95, 151, "peers_stale info", "not a list of peers"},
		{"too large", status(200, "["+strings.Repeat(" ", 2000)+"]"), 95, 151, "peers_stale info", "too large"},
		{"elsewhere", status(302, "", "Location", "http://elsewhere.test/"), 95, 151, "peers_stale info", "302"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				l.join(t, peerA, `{"name":"Echo"}`)
				p := on(t, l, options{Peers: true})
				p.SetPeersMost(1000)
				stop := start(t, offered(p, "a"))
				ask(p)
				pass(time.Minute)
				l.set(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/peers") {
						test.answer(w, r)
					}
				})
				pass(6 * time.Minute)
				l.count(peersCall)
				pass(time.Hour)
				if n := l.count(peersCall); n < test.least || n > test.most {
					t.Errorf("read %d times in an hour", n)
				}
				if got := codes(p); got != test.condition || ids(p.Peers()) != peerA {
					t.Errorf("conditions %q, peers %s", got, ids(p.Peers()))
				}
				for _, c := range p.Conditions() {
					if c.Code == "platform_rate_limited" {
						continue // has its own test
					}
					if !strings.Contains(c.Message, test.message) || !strings.Contains(c.Message, "still that of 2000-") || c.Hint == "" {
						t.Errorf("condition %+v", c)
					}
				}
				l.set(nil)
				pass(6 * time.Minute)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q once it is well again", got)
				}
				stop()
			})
		})
	}
}

// TestPeersOf reads every sort of list.
func TestPeersOf(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	row := func(card string) string { return `[{"id":"p","name":"P","status":"online","agent_card":` + card + `}]` }
	for _, test := range []struct {
		name, body string
		want       string // of the peers; empty for an error
	}{
		{"none", `[]`, `[]`},
		{"blanks", " [ ] \n", `[]`},
		{
			"molecule", `[{"active_tasks":0,"agent_card":{"name":"Echo Agent","skills":[{"id":"e","name":"echo"}]},"id":"p","name":"row","parent_id":null,"role":"sre","status":"online","tier":1,"url":"http://x"}]`,
			`[{"id":"p","name":"row","role":"sre","status":"online","card":{"name":"Echo Agent","skills":[{"id":"e","name":"echo"}]}}]`,
		},
		{"self is left out", `[{"id":"` + strings.ToUpper(workspaceID) + `"},{"id":"p"}]`, `[{"id":"p","name":"","status":"","card":null}]`},
		{"ordered, each once", `[{"id":"b"},{"id":"a","name":"1"},{"id":"a","name":"2"}]`, `[{"id":"a","name":"1","status":"","card":null},{"id":"b","name":"","status":"","card":null}]`},
		{"rows that are none", `[null, 1, "x", [], {}, {"id":null}, {"id":7}, {"id":""}, {"id":"a\u0000b"}, {"id":"p"}]`, `[{"id":"p","name":"","status":"","card":null}]`},
		{"fields of other kinds", `[{"id":"p","name":7,"role":null,"status":{"a":1},"agent_card":{}}]`, `[{"id":"p","name":"","status":"","card":{}}]`},
		{"control characters", `[{"id":"p","name":"a\u0000\u001b[31mb\n","status":"on\rline"}]`, `[{"id":"p","name":"a[31mb","status":"online","card":null}]`},
		{
			"ids that look alike", `[{"id":"aaaa"},{"id":"a\u200ba\u202ea` + "`" + `a"},{"id":"aa*aa"},{"id":"aa aa"},{"id":"aaaa\u2028"},{"id":"aaaa\ufe0f"},{"id":"` + strings.Repeat("é", 101) + `"},{"id":"` + strings.Repeat("é", 100) + `"}]`,
			`[{"id":"aaaa","name":"","status":"","card":null},{"id":"` + strings.Repeat("é", 100) + `","name":"","status":"","card":null}]`,
		},
		{"characters that are not seen", `[{"id":"p","name":"a\u200b\u202eb\u2028c","role":"\u2066r","status":"on\ufeffline"}]`, `[{"id":"p","name":"ab c","role":"r","status":"online","card":null}]`},
		{"card as a text", row(`"{\"name\": \"Echo\"}"`), `[{"id":"p","name":"P","status":"online","card":{"name":"Echo"}}]`},
		{"card that is null", row(`null`), `[{"id":"p","name":"P","status":"online","card":null}]`},
		{"card that is a list", row(`[{}]`), `[{"id":"p","name":"P","status":"online","card":null}]`},
		{"card that is a number", row(`7`), `[{"id":"p","name":"P","status":"online","card":null}]`},
		{"card that is some text", row(`"Echo"`), `[{"id":"p","name":"P","status":"online","card":null}]`},
		{"nulls and numbers inside stay", row(`{"name":null,"skills":[null,7,{"name":1e999999999}]}`), `[{"id":"p","name":"P","status":"online","card":{"name":null,"skills":[null,7,{"name":1e999999999}]}}]`},
		{"markup stays", row(`{"name":"</system><script>&"}`), `[{"id":"p","name":"P","status":"online","card":{"name":"</system><script>&"}}]`},
		{"NUL goes", row(`{"a\u0000":1,"a":"\u0000x\u0000","b":["\u0000",{"\u0000":1,"c\u0000":2,"c\u0000\u0000":3}]}`), `[{"id":"p","name":"P","status":"online","card":{"a":"x","b":["",{}]}}]`},
		{"halves of pairs go", row(`{"a":"\ud83d"}`), "[{\"id\":\"p\",\"name\":\"P\",\"status\":\"online\",\"card\":{\"a\":\"\ufffd\"}}]"},
		{"repeated keys", row(`{"a":1,"a":2}`), `[{"id":"p","name":"P","status":"online","card":{"a":2}}]`},
		{
			"card beyond what Go parses", `[{"id":"p","agent_card":` + deep(10001) + `},{"id":"q","name":"Q"}]`,
			`[{"id":"p","name":"","status":"","card":null},{"id":"q","name":"Q","status":"","card":null}]`,
		},
		{"card that is broken off", `[{"id":"p","agent_card":{"a":tru}},{"id":"q"}]`, `[{"id":"p","name":"","status":"","card":null},{"id":"q","name":"","status":"","card":null}]`},
		{"something behind it", `[{"id":"p"}]]]garbage`, `[{"id":"p","name":"","status":"","card":null}]`},
		{"commas", `[,,{"id":"p"},]`, `[{"id":"p","name":"","status":"","card":null}]`},
		{"object", `{"peers":[]}`, ""},
		{"null", `null`, ""},
		{"nothing", ``, ""},
		{"broken off", `[{"id":"p"}`, ""},
		{"ends otherwise", `[{"id":"p"}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			peers, err := molecule.PeersOf(strings.NewReader(test.body), workspaceID)
			if (err != nil) != (test.want == "") {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			var want, got any
			text, _ := json.Marshal(peers)
			if json.Unmarshal([]byte(strings.ReplaceAll(test.want, "1e999999999", "1")), &want) != nil || json.Unmarshal([]byte(strings.ReplaceAll(string(text), "1e999999999", "1")), &got) != nil {
				t.Fatalf("no JSON: %s", text)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

func TestBoundsOfPeers(t *testing.T) {
	var rows []string
	for i := range molecule.MaxPeers + 500 {
		rows = append(rows, fmt.Sprintf(`{"id":"%05d"}`, molecule.MaxPeers+500-i))
	}
	peers, err := molecule.PeersOf(strings.NewReader("["+strings.Join(rows, ",")+"]"), "")
	if err != nil || len(peers) != molecule.MaxPeers || peers[0].ID != "00001" {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	peers, err = molecule.PeersOf(strings.NewReader(`[{"id":"z"}`+strings.Repeat(",0", 1<<20)+"]"), "")
	if err != nil || len(peers) != 1 {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	large := func(n int) string {
		return `[{"id":"p","agent_card":{"a":"` + strings.Repeat("x", n) + `"}},{"id":"q","name":"` + strings.Repeat("é", 1000) + `"},{"id":"` + strings.Repeat("r", 1025) + `"}]`
	}
	peers, err = molecule.PeersOf(strings.NewReader(large(molecule.MaxPeerCardBytes-10)), "")
	if err != nil || ids(peers) != "p q" || len(peers[0].Card) < molecule.MaxPeerCardBytes-10 || len(peers[1].Name) != 1024 || !utf8.ValidString(peers[1].Name) {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	peers, err = molecule.PeersOf(strings.NewReader(large(molecule.MaxPeerCardBytes)), "")
	if err != nil || ids(peers) != "p q" || peers[0].Card != nil {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	peers, err = molecule.PeersOf(strings.NewReader(`[{"id":"p","agent_card":`+deep+`}]`), "")
	if err != nil || strings.Count(string(peers[0].Card), "{") != molecule.MaxPeerCardDepth {
		t.Errorf("%.100s, %v", peers[0].Card, err)
	}
}

// TestPeerThatIsTooLarge costs nobody else a place, be it one huge card or many large ones.
func TestPeerThatIsTooLarge(t *testing.T) {
	huge := `{"x":"` + strings.Repeat("y", 9<<20) + `"}`
	peers, err := molecule.PeersOf(strings.NewReader(`[{"agent_card":`+huge+`,"id":"b","x":`+huge+`},{"id":"a","agent_card":{"name":"A"}}]`), "")
	if err != nil || ids(peers) != "a b" || string(peers[0].Card) != `{"name":"A"}` || peers[1].Card != nil {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf(`{"id":"%02d","agent_card":{"name":"%s"}}`, i, strings.Repeat("x", 2000*i)))
	}
	slices.Reverse(rows)
	peers, err = molecule.PeersOf(strings.NewReader("["+strings.Join(rows, ",")+"]"), "")
	total, first := 0, slices.IndexFunc(peers, func(p pannier.Peer) bool { return p.Card == nil })
	for i, p := range peers {
		if total += len(p.Card); i > first && p.Card != nil {
			t.Errorf("the card of %s is kept, and that of %s is smaller", p.ID, peers[first].ID)
		}
	}
	if err != nil || len(peers) != 100 || total > push.MaxPeerCardsBytes || total < push.MaxPeerCardsBytes-200<<10 {
		t.Errorf("%d peers, %d bytes, %v", len(peers), total, err)
	}
}

// TestListOfPeersThatIsTooLarge says what can be done.
func TestListOfPeersThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.join(t, peerA, `{"name":"`+strings.Repeat("x", 1000)+`"}`)
		p := on(t, l, options{Peers: true})
		p.SetPeersMost(1000)
		stop := start(t, offered(p, "a"))
		ask(p)
		if c := p.Conditions(); len(c) != 1 || c[0].Code != "peers_stale" || !strings.Contains(c[0].Hint, "which workspace") {
			t.Errorf("conditions %+v", c)
		}
		stop()
	})
}

func FuzzPeersOf(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"id":"p","name":"P","role":null,"status":"online","agent_card":{"name":"x\u0000","skills":[null]}}]`, `[{"id":"p","agent_card":"{\"a\":1}"},{"id":"q"}]`,
		`[{"id":"p"},[{"}"]]`, `[{"id":"\"","a":[1,{"b":"]"}]}]`, `[{"id":"p" "x"}]`, "[{\"id\":\"\xff\"}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		peers, err := molecule.PeersOf(bytes.NewReader(body), "self")
		var rows []json.RawMessage
		if json.Unmarshal(body, &rows) == nil && rows != nil && err != nil {
			t.Fatalf("a list that can be read is none: %v", err)
		}
		last := ""
		for _, p := range peers {
			if p.ID <= last {
				t.Errorf("%q stands behind %q", p.ID, last)
			}
			last = p.ID
			checkPeer(t, p)
		}
	})
}

// checkPeer holds a peer against what its readers are promised.
func checkPeer(t *testing.T, p pannier.Peer) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil || !utf8.Valid(text) || strings.Contains(string(text), `\u0000`) && !strings.Contains(string(text), `\\u0000`) {
		t.Errorf("%s: %v", text, err)
	}
	if p.Card != nil && (p.Card[0] != '{' || len(p.Card) > molecule.MaxPeerCardBytes) {
		t.Errorf("card %s", p.Card)
	}
	if strings.ContainsAny(p.Name+p.Role+p.Status+p.ID, "\x00\n\r\x1b") {
		t.Errorf("peer %+v", p)
	}
}
