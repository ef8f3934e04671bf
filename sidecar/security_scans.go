package sidecar

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/admin/scans"
	"pannier/loader"
	"pannier/loader/scan"
	"pannier/publish/api"
	"pannier/registry/resolve"
)

// openScans begins with what scans have found before this process.
func (c *core) openScans(reg prometheus.Registerer) admin.ScanOptions {
	verdicts := c.state.policy.verdicts
	c.fingerprints = newFingerprints(c.rules, c.registry, verdicts, newScanPolicy(c.settings), c.log)
	c.fingerprints.contents, c.fingerprints.keepContents = c.loader.Contents, c.state.contents.writer.Put
	return admin.ScanOptions{
		IsRule: isScanRule, Ruleset: c.fingerprints.policy.ruleset, Verdicts: newCountedVerdicts(verdicts, reg), Fingerprint: c.fingerprints.now, Scan: c.scanDirectory, ApplyVerdict: c.fingerprints.apply,
	}
}

type countedVerdicts struct {
	*scans.Store
	scans *prometheus.CounterVec
}

func newCountedVerdicts(s *scans.Store, reg prometheus.Registerer) countedVerdicts {
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_skill_scans_total", Help: "Security scans whose verdict was kept, by what they were made for and by their decision.",
	}, []string{"origin", "decision"})
	for _, origin := range []pannier.ScanOrigin{pannier.ScanBackground, pannier.ScanInstall, pannier.ScanExplicit} {
		for _, decision := range []pannier.ScanDecision{pannier.ScanAllow, pannier.ScanWarn, pannier.ScanBlock} {
			count.WithLabelValues(string(origin), string(decision))
		}
	}
	reg.MustRegister(count)
	return countedVerdicts{s, count}
}

// Put implements [admin.Verdicts].
func (c countedVerdicts) Put(v pannier.ScanVerdict) (pannier.ScanVerdict, error) {
	kept, err := c.Store.Put(v)
	if err == nil {
		c.scans.WithLabelValues(string(v.Origin), string(v.Decision)).Inc()
	}
	return kept, err
}

// Hold implements [admin.Verdicts].
func (c countedVerdicts) Hold(skill *pannier.Skill, v pannier.ScanVerdict) error {
	err := c.Store.Hold(skill, v)
	if err == nil {
		c.scans.WithLabelValues(string(v.Origin), string(v.Decision)).Inc()
	}
	return err
}

// scanDirectory scans a skill directory as it is now.
func (c *core) scanDirectory(ctx context.Context, s *pannier.Skill) (pannier.ScanReport, error) {
	found, err := scan.Path(ctx, loader.PlaceOf(c.rules.Roots[s.RootIndex]), s.PathBelowRoot, c.scanOptions(s.SourceKind))
	return pannier.ScanReport{
		ScanVerdict: pannier.ScanVerdict{
			Ruleset: c.fingerprints.policy.ruleset, Decision: pannier.ScanDecision(found.Decision), Findings: found.Findings, Truncated: found.Truncated,
		},
		Files: found.Files, Bytes: found.Bytes,
	}, err
}

func isScanRule(name string) bool {
	return slices.ContainsFunc(scan.Rules(), func(r scan.Rule) bool { return r.Code == name })
}

func (e *engine) scanOptions(kind pannier.SourceKind) scan.Options {
	return scan.Options{Builtin: kind == pannier.SourceBundled, BlockInstallers: e.settings.ScanInstallers == "block"}
}

func (c *core) scans() api.Scans {
	return api.Scans{Fingerprint: c.fingerprints.of, Generation: c.fingerprints.generation, Verdict: c.fingerprints.verdictOf, Summary: c.fingerprints.summary}
}

// rpc is what the JSON-RPC of the socket takes beside what the routes do.
func (c *core) rpc() api.RPC {
	return api.RPC{
		WorkspaceID: c.settings.WorkspaceID, Workspace: c.settings.Workspace, MinimumTrust: c.settings.MinimumTrust,
		ToolTrust: c.settings.Tools.Trust.Of, Rejection: resolve.Rejection, Updated: c.modified, Subscribe: c.registry.Subscribe,
	}
}

// modified returns when the SKILL.md of a skill was last written, or the directory of one that has none. The zero time is
// not known.
func (c *core) modified(s *pannier.Skill) time.Time {
	path := filepath.FromSlash(s.FilePath())
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.settings.Workspace, path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
