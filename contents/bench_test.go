package contents

import (
	"fmt"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/state"
	"pannier/registry"
)

// BenchmarkPublishOne10k publishes a change of one content among those of 10,000 skills, where scans are enforced.
func BenchmarkPublishOne10k(b *testing.B) {
	store := state.Memory()
	verdicts, err := OpenVerdicts(store, blocksOf(store))
	if err != nil {
		b.Fatal(err)
	}
	var skills []*pannier.Skill
	for i := range 10_000 {
		slug := fmt.Sprintf("skill-%05d", i)
		skills = append(skills, &pannier.Skill{
			Slug: slug, Name: slug, Folder: slug, Path: "skills/" + slug, PathBelowRoot: slug, Sum: pannier.DigestOf([]byte(slug)),
		})
	}
	r := registry.New(registry.Options{})
	t := New(Options{
		Registry: r, Verdicts: verdicts, Enforce: true, Registerer: prometheus.NewRegistry(), Logger: hclog.NewNullLogger(),
	})
	for _, s := range skills {
		t.putLocked(s.Path, &Content{Of: s.Sum, Fingerprint: s.Sum, Scan: &pannier.ScanSummary{}, ticket: 1})
	}
	t.publish()
	r.Update(func(in *registry.Inputs) {
		in.Judges = []func() registry.Judge{t.Judge}
		in.Catalog = pannier.Catalog{Skills: skills}
	})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s := skills[5000]
		t.putLocked(s.Path, &Content{Of: s.Sum, Fingerprint: s.Sum, Scan: &pannier.ScanSummary{}, Trouble: fmt.Sprint(n), ticket: 1})
		t.publish()
	}
}
