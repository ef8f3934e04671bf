package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// shelf answers as a sidecar with one skill of two files does. changes is how often the second file is another one.
type shelf struct {
	slug    string
	changes int
	reads   int
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, file := strings.CutPrefix(r.URL.Path, "/v1/skills/pdf/files/")
	if !file {
		fmt.Fprintf(w, `{"slug":%q,"path":"skills/pdf","files":[{"path":"SKILL.md","size":1},{"path":"b.md","size":1}]}`, s.slug)
		return
	}
	text := "same"
	if name == "b.md" {
		s.reads++
		text = fmt.Sprint("version ", min(s.reads, s.changes))
	}
	w.Header().Set("ETag", `"`+pannier.DigestOf([]byte(text)).String()+`"`)
	fmt.Fprint(w, text)
}

func TestPublishIsOfOneVersion(t *testing.T) {
	for _, tt := range []struct {
		name, slug string
		changes    int
		want       string // of the error; empty where it is written
	}{
		{"still", "pdf", 0, ""},
		{"changes once", "pdf", 2, ""},
		{"never rests", "pdf", 1000, "keeps changing"},
		{"leads out", "../../outside", 0, "unexpected slug"},
		{"nothing", "", 0, "unexpected slug"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			to := filepath.Join(dir, "a", "b")
			c := client.InProcess(&shelf{slug: tt.slug, changes: tt.changes})
			p := &program{streams: streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}}
			err := p.publish(t.Context(), c, "pdf", to, "")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v", err)
			}
			text, _ := os.ReadFile(filepath.Join(to, "pdf", "b.md"))
			if want := fmt.Sprint("version ", tt.changes); err == nil && string(text) != want {
				t.Errorf("wrote %q, want %q", text, want)
			}
			if left, _ := filepath.Glob(filepath.Join(to, ".*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
			if _, outside := os.Lstat(filepath.Join(dir, "outside")); outside == nil {
				t.Error("wrote outside of the directory")
			}
		})
	}
}
