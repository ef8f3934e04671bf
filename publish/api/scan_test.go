package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// printed is a house that knows the fingerprint of every skill, and a verdict on alpha.
type printed struct {
	*mutable
	generation uint64
	failing    error
}

// prints are fingerprints and verdicts by functions.
type prints struct {
	fingerprint func(*pannier.Skill) pannier.Digest
	version     func() uint64
	verdict     func(*pannier.Skill) (pannier.ScanVerdict, bool, error)
}

func (p prints) Fingerprint(s *pannier.Skill) pannier.Digest { return p.fingerprint(s) }

func (p prints) Compute(_ context.Context, s *pannier.Skill) (pannier.Digest, error) {
	return p.fingerprint(s), nil
}

func (p prints) Version() uint64 {
	if p.version == nil {
		return 0
	}
	return p.version()
}

func (p prints) Verdict(s *pannier.Skill) (v pannier.ScanVerdict, found bool, err error) {
	if p.verdict == nil {
		return v, false, nil
	}
	return p.verdict(s)
}

func (prints) Summary(*pannier.Skill) *pannier.ScanSummary { return nil }

func newPrinted() *printed {
	p := &printed{mutable: newMutable(), generation: 1}
	p.content.Contents = prints{
		fingerprint: func(s *pannier.Skill) pannier.Digest { return pannier.DigestOf(fmt.Append(nil, s.Path, p.generation)) },
		version:     func() uint64 { return p.generation },
		verdict: func(s *pannier.Skill) (pannier.ScanVerdict, bool, error) {
			return verdict, s.Path == "skills/alpha", p.failing
		},
	}
	return p
}

var verdict = pannier.ScanVerdict{
	Fingerprint: pannier.DigestOf([]byte("f")), At: catalog().Time, Decision: pannier.ScanWarn, Origin: pannier.ScanExplicit,
	Findings: []pannier.Finding{{Rule: "scan.path.hidden", Severity: pannier.SeverityWarning, Path: ".x", Message: "m", Hint: "h"}},
}

func TestFingerprintsAreTold(t *testing.T) {
	p := newPrinted()
	h := p.handler()
	tags := map[string]bool{}
	for range 3 {
		p.generation++
		w := ask(h, "GET", "/v1/skills", "")
		list := decode[pannier.List](t, w)
		for _, e := range list.Skills {
			if want := pannier.DigestOf(fmt.Append(nil, e.Path, p.generation)); e.Fingerprint != want {
				t.Errorf("%s has %s, want %s", e.Path, e.Fingerprint, want)
			}
		}
		tags[w.Header().Get("ETag")] = true
		if again := ask(h, "GET", "/v1/skills", "", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("the same generation is answered with %d", again.Code)
		}
		d := decode[pannier.Detail](t, ask(h, "GET", "/v1/skills/alpha", ""))
		if diff := cmp.Diff(&verdict, d.Scan); diff != "" || d.Fingerprint != list.Skills[0].Fingerprint {
			t.Errorf("detail %s (-want +got):\n%s", d.Fingerprint, diff)
		}
	}
	if len(tags) != 3 {
		t.Errorf("three generations have the tags %v", tags)
	}
	if d := decode[pannier.Detail](t, ask(h, "GET", "/v1/skills/beta", "")); d.Scan != nil || d.Fingerprint.IsZero() {
		t.Errorf("a skill that nobody has scanned: %+v", d.Scan)
	}
	p.failing = errors.New("broken")
	if d := decode[pannier.Detail](t, ask(h, "GET", "/v1/skills/alpha", "")); d.Scan != nil {
		t.Errorf("a verdict that cannot be read: %+v", d.Scan)
	}
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	h := newHouse().handler()
	for _, target := range []string{"/v1/skills", "/v1/skills/alpha"} {
		if w := ask(h, "GET", target, ""); strings.Contains(w.Body.String(), `"fingerprint"`) || strings.Contains(w.Body.String(), `"scan"`) || strings.Contains(w.Body.String(), `"health"`) {
			t.Errorf("%s: %s", target, w.Body)
		}
	}
	if w := askAs(h, 0, "POST", "/v1/skills/alpha/scan", ""); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a scan without its function: %d", w.Code)
	}
}

func TestHealthOfSkills(t *testing.T) {
	h := newHouse().handler()
	list := decode[pannier.List](t, ask(h, "GET", "/v1/skills?include=health", ""))
	var got []string
	for _, e := range list.Skills {
		got = append(got, fmt.Sprintf("%s %s %d %d %d", e.Slug, e.Health.Status, len(e.Health.DependencyFailures), len(e.Health.SecurityBlocks), len(e.Health.ValidationIssues)))
		if e.Problems != nil {
			t.Errorf("%s has problems that nobody asked for", e.Slug)
		}
	}
	want := []string{"alpha degraded 0 0 1", "beta blocked 1 0 0", "delta blocked 1 0 0", "gamma degraded 0 0 1", "omega ok 0 0 0", "omega ok 0 0 0", "zeta ok 0 0 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScanRoute(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		uid          uint32
		fail         error
		status       int
		code, noted  string
	}{
		{name: "root", target: "/v1/skills/alpha/scan", status: 200, noted: "scan skills/alpha by 0"},
		{name: "with an owner", target: "/v1/skills/acme%2Falpha/scan", uid: 4242, status: 200, noted: "scan skills/alpha by 4242"},
		{name: "one that is shadowed", target: "/v1/skills/omega/scan?path=extra/omega", status: 200, noted: "scan extra/omega by 0"},
		{name: "a member of the group", target: "/v1/skills/alpha/scan", uid: 1000, status: 403, code: "forbidden"},
		{name: "accepting", target: "/v1/skills/alpha/scan?accept=scan.a,scan.b&reason=ours", status: 200, noted: `scan skills/alpha by 0 false ["scan.a" "scan.b"] ours`},
		{name: "taking back", target: "/v1/skills/alpha/scan?accept=none", status: 200, noted: `scan skills/alpha by 0 true [] `},
		{name: "an empty reason", target: "/v1/skills/alpha/scan?accept=scan.a&reason=", status: 400, code: "invalid_parameter.reason"},
		{name: "a rule that was not found", target: "/v1/skills/alpha/scan?accept=scan.a&reason=r", fail: &pannier.Refusal{Code: "scan.accept.not_found", Message: "m", Hint: "h"}, status: 409, code: "scan.accept.not_found", noted: `scan skills/alpha by 0 false ["scan.a"] r`},
		{name: "no such skill", target: "/v1/skills/none/scan", status: 404, code: "skill_not_found"},
		{name: "no such parameter", target: "/v1/skills/alpha/scan?force=1", status: 400, code: "unknown_parameter"},
		{name: "it keeps changing", target: "/v1/skills/alpha/scan", fail: fmt.Errorf("scan: %w", pannier.ErrChanged), status: 503, code: "changing", noted: "scan skills/alpha by 0"},
		{name: "no audit", target: "/v1/skills/alpha/scan", fail: pannier.ErrNotAudited, status: 503, code: "not_audited", noted: "scan skills/alpha by 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPrinted()
			p.fail = tt.fail
			w := askAs(p.handler(), tt.uid, "POST", tt.target, "")
			if w.Code != tt.status || strings.Join(p.noted, "; ") != tt.noted {
				t.Fatalf("%d %s, noted %q; want %d, %q", w.Code, w.Body, p.noted, tt.status, tt.noted)
			}
			if tt.code != "" {
				if e := decode[pannier.ErrorDocument](t, w); e.Code != tt.code || e.Hint == "" {
					t.Errorf("error %+v", e)
				}
				return
			}
			if report := decode[pannier.ScanReport](t, w); report.Files != 3 || report.Decision != pannier.ScanWarn || len(report.Findings) != 1 {
				t.Errorf("report %+v", report)
			}
		})
	}
}
