package registry_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier"
	"pannier/registry"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	r := registry.New(registry.Options{Registerer: reg, FirstVersion: 42})
	const before = `
# HELP pannier_catalog_generation Version of the snapshot that is served.
# TYPE pannier_catalog_generation gauge
pannier_catalog_generation 0
# HELP pannier_catalog_info Always 1; the label is the digest of the snapshot that is served, empty before the first.
# TYPE pannier_catalog_info gauge
pannier_catalog_info{digest=""} 1
# HELP pannier_last_change_timestamp_seconds When the snapshot that is served was made.
# TYPE pannier_last_change_timestamp_seconds gauge
pannier_last_change_timestamp_seconds 0
# HELP pannier_skill_problems Problems of skills, roots and config.yaml, by severity.
# TYPE pannier_skill_problems gauge
pannier_skill_problems{severity="error"} 0
pannier_skill_problems{severity="info"} 0
pannier_skill_problems{severity="warning"} 0
# HELP pannier_skills Skills found, by state.
# TYPE pannier_skills gauge
pannier_skills{state="disabled"} 0
pannier_skills{state="eligible"} 0
pannier_skills{state="ineligible"} 0
pannier_skills{state="shadowed"} 0
pannier_skills{state="unlisted"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(before)); err != nil {
		t.Error(err)
	}
	if lint, err := testutil.GatherAndLint(reg); err != nil || len(lint) > 0 {
		t.Error(err, lint)
	}
	r.Update(func(in *registry.Inputs) {
		*in = of(listing("a", "b", "gone"), skillAt("skills/a"), skillAt("managed/a"), skillAt("skills/b", broken), skillAt("skills/c"))
		in.Catalog.Problems = []pannier.Problem{{Severity: pannier.SeverityInfo}}
	})
	const after = `
# HELP pannier_catalog_generation Version of the snapshot that is served.
# TYPE pannier_catalog_generation gauge
pannier_catalog_generation 42
# HELP pannier_skill_problems Problems of skills, roots and config.yaml, by severity.
# TYPE pannier_skill_problems gauge
pannier_skill_problems{severity="error"} 1
pannier_skill_problems{severity="info"} 1
pannier_skill_problems{severity="warning"} 1
# HELP pannier_skills Skills found, by state.
# TYPE pannier_skills gauge
pannier_skills{state="disabled"} 0
pannier_skills{state="eligible"} 1
pannier_skills{state="ineligible"} 1
pannier_skills{state="shadowed"} 1
pannier_skills{state="unlisted"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(after), "pannier_catalog_generation", "pannier_skill_problems", "pannier_skills"); err != nil {
		t.Error(err)
	}
}

func TestCatalogInfo(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	r := registry.New(registry.Options{Registerer: reg})
	for _, skills := range [][]*pannier.Skill{skillsAt("skills/a"), skillsAt("skills/a", "skills/b"), skillsAt("skills/a", "skills/b")} {
		s := r.Update(func(in *registry.Inputs) { in.Catalog.Skills = skills })
		want := "# HELP pannier_catalog_info Always 1; the label is the digest of the snapshot that is served, empty before the first.\n" +
			"# TYPE pannier_catalog_info gauge\npannier_catalog_info{digest=\"" + s.Digest.String() + "\"} 1\n"
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "pannier_catalog_info"); err != nil {
			t.Error(err)
		}
	}
}
