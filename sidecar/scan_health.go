package sidecar

import (
	"cmp"
	"fmt"
	"strings"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
)

// scanConditions tell of blocking findings that do not block, and of skills that cannot be scanned.
func (c *core) scanConditions(s *pannier.Snapshot) []pannier.Condition {
	if c.settings.Scan == config.ScanOff {
		return nil
	}
	var found, unscanned []string
	trouble := ""
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.State != pannier.StateEligible && e.State != pannier.StateIneligible {
			continue
		}
		if v := c.fingerprints.summary(e.Skill); v != nil && v.Origin == pannier.ScanBackground && len(v.Blocking) > 0 && !c.fingerprints.policy.enforce {
			found = append(found, e.Slug)
		}
		if why := c.fingerprints.failure(e.Skill); why != "" {
			unscanned, trouble = append(unscanned, e.Slug), cmp.Or(trouble, why)
		}
	}
	var conditions []pannier.Condition
	if len(found) > 0 {
		conditions = append(conditions, pannier.Condition{
			Code: "scan_findings", Severity: pannier.SeverityWarning, Subject: plain.Shorten(strings.Join(found, ", "), 200),
			Message: fmt.Sprintf("%s in the background scan, which the settings only report", haveFindings(len(found))),
			Hint:    "run `pannier show` for each to see the findings; `pannier scan SLUG` blocks it, `scan: enforce` blocks all such skills",
		})
	}
	if len(unscanned) > 0 {
		conditions = append(conditions, pannier.Condition{
			Code: "skills_unscanned", Severity: pannier.SeverityWarning, Subject: plain.Shorten(strings.Join(unscanned, ", "), 200),
			Message: fmt.Sprintf("%d of %d skills have no fingerprint, so the background scan skips them: %s", len(unscanned), len(s.Entries), trouble),
			Hint:    "make every file of the skill readable, and remove large data from it",
		})
	}
	return conditions
}

func haveFindings(skills int) string {
	if skills == 1 {
		return "1 skill has a blocking finding"
	}
	return fmt.Sprintf("%d skills have blocking findings", skills)
}
