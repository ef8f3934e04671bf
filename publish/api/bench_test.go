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

// thousand is a house of 1,000 skills, as large as those that people publish.
func thousand() *house {
	h := newHouse()
	s := &pannier.Snapshot{Version: 1, Digest: pannier.DigestOf([]byte("s")), Time: h.snapshot.Time}
	for i := range 1000 {
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
	path, _ := serve(b, thousand().handler())
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
