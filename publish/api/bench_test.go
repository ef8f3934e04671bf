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

// benchmarkOver asks over a socket and reports how long the median and the slowest in a hundred took.
func benchmarkOver(b *testing.B, method, target, body string) {
	path, _ := serve(b, thousand().handler())
	c := caller(b, path)
	var took []time.Duration
	var size int64
	for b.Loop() {
		start := time.Now()
		req, err := http.NewRequest(method, "http://pannier"+target, strings.NewReader(body))
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

func BenchmarkResolve(b *testing.B) {
	benchmarkOver(b, "POST", "/v1/resolve", `{"text":"/skill:skill-0500 go"}`)
}

func BenchmarkPrompt(b *testing.B) { benchmarkOver(b, "GET", "/v1/prompt", "") }

func BenchmarkList(b *testing.B) { benchmarkOver(b, "GET", "/v1/skills", "") }

func BenchmarkCard(b *testing.B) { benchmarkOver(b, "GET", "/v1/card", "") }
