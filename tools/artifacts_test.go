package tools_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
	"pannier/tools"
)

// leaves has each call leave a file with a text.
func (b *bench) leaves(name, text string) {
	b.kept = map[string]string{}
	b.carry = func(_ context.Context, job pannier.ToolJob, _ func([]byte)) (pannier.ToolResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[job.ID+"/"+name] = text
		return pannier.ToolResult{OK: true, Artifacts: []pannier.Artifact{
			{Name: name, Bytes: int64(len(text)), Digest: pannier.DigestOf([]byte(text)), MediaType: "claimed"}, {Name: "hunter2"},
		}}, nil
	}
}

// TestArtifacts of a call are those of its owner first, of the newest call else, and for an hour.
func TestArtifacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.known = b.print
		s := tools.New(b.options)
		read := func(owner, id, name string) (string, string) {
			found, content, err := s.Artifact(t.Context(), owner, id, name)
			var text bytes.Buffer
			if err == nil {
				_, err = content.WriteTo(&text)
			}
			if err != nil {
				return "", codeOf(err)
			}
			return text.String(), found.MediaType
		}
		call := func(owner, text string) {
			b.leaves("out.csv", text)
			r := request("skill.a.run", "")
			r.Owner, r.CallID = owner, "c"
			got, err := s.Call(t.Context(), r)
			if err != nil || len(got.Artifacts) != 1 || got.Artifacts[0].MediaType != "text/csv" {
				t.Fatalf("%+v, %v", got, err)
			}
			if e := b.events[len(b.events)-1]; len(e.Artifacts) != 1 || e.Artifacts[0] != got.Artifacts[0] {
				t.Errorf("event %+v", e)
			}
		}
		if _, code := read("uid:1", "c", "out.csv"); code != pannier.ToolArtifactMissing {
			t.Errorf("before any call: %s", code)
		}
		call("uid:1", "of the first")
		if text, kind := read("uid:9", "c", "out.csv"); text != "of the first" || kind != "text/csv" {
			t.Errorf("another client: %q, %s", text, kind)
		}
		kept := b.kept
		call("uid:2", "of the second")
		for id, text := range kept {
			b.kept[id] = text
		}
		for owner, want := range map[string]string{"uid:1": "of the first", "uid:2": "of the second", "uid:9": "of the second"} {
			if text, _ := read(owner, "c", "out.csv"); text != want {
				t.Errorf("%s: %q", owner, text)
			}
		}
		for _, name := range []string{"hunter2", "other", ""} {
			if _, code := read("uid:1", "c", name); code != pannier.ToolArtifactMissing {
				t.Errorf("%q: %s", name, code)
			}
		}
		for id := range b.kept {
			b.kept[id] = "of another"
		}
		for _, text := range []string{"of the fyrst", "short"} {
			for id := range b.kept {
				b.kept[id] = text
			}
			if got, code := read("uid:1", "c", "out.csv"); code != pannier.ToolArtifactMissing {
				t.Errorf("the runner has %q: %q, %s", text, got, code)
			}
		}
		clear(b.kept)
		if _, code := read("uid:1", "c", "out.csv"); code != pannier.ToolArtifactMissing {
			t.Errorf("the runner has dropped it: %s", code)
		}
		time.Sleep(pannier.MaxArtifactAge + time.Second)
		if _, _, err := s.Artifact(t.Context(), "uid:1", "c", "out.csv"); codeOf(err) != pannier.ToolArtifactMissing {
			t.Errorf("after an hour: %v", err)
		}
	})
}
