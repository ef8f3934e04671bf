package api_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
)

// reading is a house of some skills whose bodies have a size, and how often one was read.
func reading(skills, size int) (*house, *atomic.Int64) {
	h, reads := houseOf(skills), &atomic.Int64{}
	h.content.Texts = texts{read: func(s *pannier.Skill) (pannier.Document, error) {
		reads.Add(1)
		if s.LastGood || s.Deleting {
			return pannier.Document{}, pannier.ErrNotServable
		}
		return pannier.Document{Body: s.Digest.String() + strings.Repeat("x", size)}, nil
	}}
	return h, reads
}

// TestBodiesAreReadOnce for all prompts about skills that have not changed, and again when nobody has asked for long.
func TestBodiesAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, reads := reading(10, 100)
		handler := h.handler()
		prompts := func(want int64) {
			t.Helper()
			before := reads.Load()
			for _, target := range []string{"/v1/prompt?format=molecule", "/v1/prompt?format=skills_xml"} {
				w := ask(handler, "GET", target, "")
				for i := range h.snapshot.Entries {
					if e := h.snapshot.Entries[i]; strings.Contains(w.Body.String(), e.Digest.String()) == (e.LastGood || e.Deleting) {
						t.Errorf("%s: the body of %s: %s", target, e.Slug, w.Body)
					}
				}
			}
			if got := reads.Load() - before; got != want {
				t.Errorf("%d reads, want %d", got, want)
			}
		}
		prompts(10)
		prompts(0)
		changed := *h.snapshot
		changed.Entries = append([]*pannier.Entry{}, changed.Entries...)
		for i, change := range []func(*pannier.Skill){
			func(s *pannier.Skill) { s.Digest = pannier.DigestOf([]byte("other")) },
			func(s *pannier.Skill) { s.LastGood = true },
			func(s *pannier.Skill) { s.Deleting = true },
		} {
			s := *changed.Entries[i].Skill
			change(&s)
			changed.Entries[i].Skill = &s
		}
		h.snapshot = &changed
		prompts(1) // what is held as it was is not read
		prompts(0)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		prompts(8)
	})
}

// TestKeptBodiesAreBounded to 8 MiB, and what is kept is of use although not all of it fits.
func TestKeptBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, reads := reading(4, 3<<20)
		handler := h.handler()
		for prompt, want := range []int64{4, 6, 8} { // two of a little more than three mebibytes fit
			if ask(handler, "GET", "/v1/prompt?format=molecule", ""); reads.Load() != want {
				t.Errorf("%d reads after prompt %d, want %d", reads.Load(), prompt, want)
			}
		}
		for i := range h.snapshot.Entries {
			h.snapshot.Entries[i].Digest = pannier.DigestOf(fmt.Append(nil, i))
		}
		for prompt, want := range []int64{12, 16, 18} { // what two prompts have not shown makes room
			if ask(handler, "GET", "/v1/prompt?format=molecule", ""); reads.Load() != want {
				t.Errorf("%d reads after prompt %d of others, want %d", reads.Load(), prompt, want)
			}
		}
	})
}
