package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/publish/prompt"
	"pannier/registry/resolve"
)

// catalogs lists the formats that show no bodies.
func catalogs() []string {
	return slices.DeleteFunc(prompt.Formats(), prompt.NeedsBodies)
}

// plainly returns an answer to a turn that is made anew, with the encoder of the standard library.
func plainly(t *testing.T, s *pannier.Snapshot, turn pannier.Turn) (resolution, section string) {
	t.Helper()
	r := resolve.Resolve(s, turn)
	for i := range r.Tools {
		r.Tools[i].Why = permitSome(s, &r.Tools[i].RuntimeTool)
		r.Tools[i].Callable = r.Tools[i].Why == nil
	}
	maxChars := 0
	if prompt.Bounded(turn.Format) {
		maxChars = 24000
	}
	if turn.Limits.MaxChars != nil {
		maxChars = *turn.Limits.MaxChars
	}
	bodies, unread := map[string]string{}, map[string]bool{}
	for _, a := range r.Active {
		if e, _ := s.Lookup(a.Slug); e.LastGood {
			unread[a.Slug] = true
		} else if turn.Limits.MaxBodies == nil {
			bodies[a.Slug] = "# " + e.Name + " <&>\n"
		}
	}
	var written prompt.Section
	prompt.NewRenderer(s, "/configs").RenderActive(prompt.Active{Named: r.Active}, prompt.Texts{Bodies: bodies, Unread: unread}, turn.Format, prompt.Budget{MaxChars: maxChars}, &written)
	p := pannier.Prompt{
		Format: written.Format, Text: strings.Join(written.Parts, ""), Omitted: append([]string{}, written.Omitted...), Shortened: append([]pannier.Shortened{}, written.Shortened...), Truncated: written.Truncated(),
	}
	p.Chars, p.TokensEstimate = written.Length()
	r.Prompt = &p
	return encodeJSON(t, r), encodeJSON(t, p)
}

// permitSome refuses calls of tools of kind http.
func permitSome(_ *pannier.Snapshot, tool *pannier.RuntimeTool) *pannier.ToolError {
	if tool.Kind == pannier.RuntimeHTTP {
		return &pannier.ToolError{Code: pannier.ToolNotAllowed, Message: "a \"<b>\"", Hint: "h"}
	}
	return nil
}

func encodeJSON(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// manySorts has dozens of skills of every sort, whose names are not in the order of their slugs.
func manySorts() *pannier.Snapshot {
	s := catalog()
	for i := range 150 {
		e := entry(fmt.Sprintf("s%03d", i), pannier.StateEligible)
		e.Name, e.Description = fmt.Sprintf("N%d \"é\u2028", i*7%150), strings.Repeat("d<\\\x01\n", i%9)
		switch i % 10 {
		case 1:
			e.Paths, e.AllowedTools = []string{"src/**/*.go", fmt.Sprintf("doc/%d.md", i)}, []string{"Read", "Bash(git:*)"}
		case 2, 4:
			e.TrustLevel = pannier.TrustVerified
			for _, name := range []string{"ask", "build"}[:i%3] {
				e.RuntimeTools = append(e.RuntimeTools, pannier.Tool{Name: name, Kind: pannier.RuntimeShell, Declaration: json.RawMessage(`{"kind":"` + []string{"shell", "http"}[i/10%2] + `","config":{"command":["<a> & b"]}}`)})
			}
			if i%4 == 0 {
				e.Policy.AllowImplicit = i%8 == 0
				e.TrustLevel = pannier.TrustCommunity
			}
		case 3:
			e.Runtimes = []string{"codex", "hermes"}
		case 5:
			e.Policy.AllowImplicit = false
		case 7:
			e.State, e.Usable, e.Reasons = pannier.StateIneligible, false, []pannier.Reason{{Code: pannier.ReasonMissingEnv, Subject: "A", Remedy: "set \"A\""}}
		case 8:
			e.Policy.Enabled, e.State, e.Usable = false, pannier.StateDisabled, false
		}
		s.Entries = append(s.Entries, e)
	}
	slices.SortStableFunc(s.Entries, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
	return s
}

func someTurns() []pannier.Turn {
	limit := func(n int) pannier.Limits { return pannier.Limits{MaxChars: &n} }
	turns := []pannier.Turn{
		{},
		{Text: "/skill:s001 a \"b\"\n$s000 @skill:s149 $s001 @skill:gone @skill:s007 $s008 $alpha \xff"},
		{Capabilities: []pannier.Capability{{ID: "1", Slug: "s149"}, {ID: "2", Slug: "late/omega"}, {Slug: "s005"}, {Slug: "acme/alpha"}}, Text: "$s149"},
		{Runtime: "codex", Text: "$s003 $s013"},
		{Runtime: "else", Text: "$s003 $s004 @skill:s013"},
		{Limits: limit(0), Text: "$s100"},
		{Limits: limit(3000), Text: "$s149"},
		{Limits: limit(1)},
		{Paths: []string{"/w/src/a/b.go", "doc/21.md"}, ProjectDir: "/w", Tools: []string{"Bash", "Read"}, Text: "$s011 and `src/x.go`"},
		{Text: "look at ./src/main.go, $s002 $s004 $s052 $s124 $s044", Tools: []string{}},
		{Text: "$s004", Limits: pannier.Limits{MaxBodies: new(int)}},
	}
	for i := range 150 {
		turns[0].Capabilities = append(turns[0].Capabilities, pannier.Capability{Slug: fmt.Sprintf("s%03d", 149-i)})
	}
	turns = append(turns, pannier.Turn{})
	for i := range 20 { // more runtimes than anything is kept for
		turns = append(turns, pannier.Turn{Runtime: fmt.Sprint("r", i), Text: fmt.Sprintf("$s%03d", i)})
	}
	return turns
}

// TestKeptPartsGiveTheSameBytes asks one handler about many turns at once, in every format, and compares with answers that
// are made anew.
func TestKeptPartsGiveTheSameBytes(t *testing.T) {
	house := newHouse()
	house.snapshot, house.content.Tools = manySorts(), toolFuncs{permit: permitSome}
	h := house.handler()
	var asking sync.WaitGroup
	for _, turn := range someTurns() {
		for _, format := range append(prompt.Formats(), "") {
			turn.Format = format
			body, err := json.Marshal(turn)
			if err != nil {
				t.Fatal(err)
			}
			var asked pannier.Turn // as it arrives
			if err := json.Unmarshal(body, &asked); err != nil {
				t.Fatal(err)
			}
			asking.Go(func() {
				resolution, section := plainly(t, house.snapshot, asked)
				verbose := asked
				verbose.Verbose = true
				all, _ := plainly(t, house.snapshot, verbose)
				if got := ask(h, "POST", "/v1/resolve?verbose=1", string(body)).Body.String(); got != all {
					t.Errorf("verbose %s: got\n%.3000s\nwant\n%.3000s", body, got, all)
				}
				for range 2 {
					if got := ask(h, "POST", "/v1/resolve", string(body)).Body.String(); got != resolution {
						t.Errorf("resolve %s: got\n%.3000s\nwant\n%.3000s", body, got, resolution)
					}
					if got := ask(h, "POST", "/v1/prompt", string(body), "Accept", jsonType).Body.String(); got != section {
						t.Errorf("prompt %s: got\n%.3000s\nwant\n%.3000s", body, got, section)
					}
				}
			})
		}
	}
	asking.Wait()
}

// TestKeptPartsAreOfOneSnapshot answers from the snapshot of each moment, whatever was kept of another.
func TestKeptPartsAreOfOneSnapshot(t *testing.T) {
	house := newHouse()
	house.content.Tools = toolFuncs{permit: permitSome}
	h := house.handler()
	snapshots := []*pannier.Snapshot{catalog(), manySorts(), {Version: 9, Time: time.Unix(0, 0)}}
	for n := range 9 {
		house.snapshot = snapshots[n%3]
		for _, format := range prompt.Formats() {
			resolution, section := plainly(t, house.snapshot, pannier.Turn{Format: format})
			if got := ask(h, "POST", "/v1/resolve", `{"format":"`+format+`"}`).Body.String(); got != resolution {
				t.Errorf("snapshot %d, %s: got\n%.2000s\nwant\n%.2000s", n%3, format, got, resolution)
			}
			if got := ask(h, "GET", "/v1/prompt?format="+format, "", "Accept", jsonType).Body.String(); got != section {
				t.Errorf("snapshot %d, %s: got\n%.2000s\nwant\n%.2000s", n%3, format, got, section)
			}
		}
	}
}
