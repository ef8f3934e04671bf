package api_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
)

// thousand is a house of 1,000 skills.
func thousand() *house { return houseOf(1000) }

// houseOf is a house of some skills, as large as those that people publish, which records turns as a sidecar does.
func houseOf(skills int) *house {
	h := newHouse()
	h.turns.Events.PerMinute = 120
	s := &pannier.Snapshot{Version: 1, Digest: pannier.DigestOf([]byte("s")), Time: h.snapshot.Time}
	for i := range skills {
		e := entry(fmt.Sprintf("skill-%04d", i), pannier.StateEligible)
		e.Description = strings.Repeat("Does what it says, when it is asked to. ", 6)
		e.Tags = []string{"one", "two"}
		s.Entries = append(s.Entries, e)
	}
	h.snapshot = s
	return h
}

// benchmarkOver asks over a socket and reports how long the median and the slowest in a hundred took. body returns what is
// asked with the nth time.
func benchmarkOver(b *testing.B, method, target string, body func(n int) string) {
	benchmarkHouse(b, thousand(), method, target, body)
}

func benchmarkHouse(b *testing.B, h *house, method, target string, body func(n int) string) {
	path, _ := serve(b, h.handler())
	c := caller(b, path)
	var took []time.Duration
	var size int64
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		req, err := http.NewRequest(method, "http://pannier"+target, strings.NewReader(body(n)))
		if err != nil {
			b.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		size, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(size), "answer-B")
}

func nothing(int) string { return "" }

// turnIn returns turns of which none is like another: they name one skill or two, and one that is not there.
func turnIn(format string) func(int) string {
	return func(n int) string {
		return fmt.Sprintf(`{"format":%q,"capabilities":[{"id":"c%d","slug":"skill-%04d"}],"text":"/skill:skill-%04d fill in form %d.pdf\nAsk @skill:gone-%d and pay $%d at https://a.example/%d."}`,
			format, n, n*7%1000, n*13%1000, n, n, n, n)
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, format := range catalogs() {
		b.Run(format, func(b *testing.B) { benchmarkOver(b, "POST", "/v1/resolve", turnIn(format)) })
	}
}

// BenchmarkResolve10k is of ten times as many skills.
func BenchmarkResolve10k(b *testing.B) {
	benchmarkHouse(b, houseOf(10_000), "POST", "/v1/resolve", turnIn("available_skills"))
}

// BenchmarkResolvePaths is of turns about files, where each skill has globs and some have tools to narrow and to offer.
func BenchmarkResolvePaths(b *testing.B) {
	for _, skills := range []int{1000, 10_000} {
		h := houseOf(skills)
		for i := range h.snapshot.Entries {
			e := h.snapshot.Entries[i]
			e.Paths = []string{fmt.Sprintf("pkg%d/**/*.go", i), "**/*.x" + fmt.Sprint(i%97)}
			e.AllowedTools, e.TrustLevel = []string{"Read", "Bash(git:*)"}, pannier.TrustVerified
			if i%20 == 0 {
				e.RuntimeTools = []pannier.Tool{{Name: "run", Kind: pannier.RuntimeShell, Declaration: []byte(`{"kind":"shell"}`)}}
			}
		}
		b.Run(fmt.Sprint(skills), func(b *testing.B) {
			benchmarkHouse(b, h, "POST", "/v1/resolve", func(n int) string {
				return fmt.Sprintf(`{"format":"available_skills","tools":["Read","Bash","Write"],"project_dir":"/p","paths":["/p/pkg%d/a/b.go","README.md"],"text":"mend pkg%d/main.go and src/c.rs, $skill-%04d"}`, n%skills, n*3%skills, n*7%1000)
			})
		})
	}
}

func BenchmarkTurnPrompt(b *testing.B) {
	for _, format := range catalogs() {
		b.Run(format, func(b *testing.B) { benchmarkOver(b, "POST", "/v1/prompt", turnIn(format)) })
	}
}

func BenchmarkPrompt(b *testing.B) {
	for _, format := range catalogs() {
		b.Run(format, func(b *testing.B) { benchmarkOver(b, "GET", "/v1/prompt?format="+format, nothing) })
	}
}

// BenchmarkPromptLimited is of the route that shares no answers.
func BenchmarkPromptLimited(b *testing.B) {
	benchmarkOver(b, "GET", "/v1/prompt?max_chars=8000", nothing)
}

func BenchmarkList(b *testing.B) { benchmarkOver(b, "GET", "/v1/skills", nothing) }

func BenchmarkCard(b *testing.B) { benchmarkOver(b, "GET", "/v1/card", nothing) }

// BenchmarkHealthz is what an exchange costs without an answer to speak of.
func BenchmarkHealthz(b *testing.B) { benchmarkOver(b, "GET", "/healthz", nothing) }

// BenchmarkPromptBodies is of the formats that show the body of every skill: a thousand of 8 KiB.
func BenchmarkPromptBodies(b *testing.B) {
	for _, format := range []string{"molecule", "skills_xml"} {
		b.Run(format, func(b *testing.B) {
			h := thousand()
			body := strings.Repeat("Open the form, and fill in what is known of it.\n\n- `a` first\n- then \"b\"\n\n", 110)
			h.content.Texts = texts{read: func(*pannier.Skill) (pannier.Document, error) { return pannier.Document{Body: body}, nil }}
			benchmarkHouse(b, h, "GET", "/v1/prompt?max_chars=0&format="+format, nothing)
		})
	}
}
