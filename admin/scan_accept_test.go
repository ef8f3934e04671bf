package admin_test

import (
	"errors"
	"strings"
	"testing"

	"pannier"
)

// TestAccept: an acceptance holds for the content that was scanned, is told with every later scan, and can be taken
// back.
func TestAccept(t *testing.T) {
	h := newScanned(t, t.TempDir())
	ask := func(req pannier.ScanRequest) pannier.ScanReport {
		t.Helper()
		report, _, err := h.Scan(t.Context(), actor, skill, req)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	accept := pannier.ScanRequest{Accept: pannier.AcceptRequest{Rules: []string{elf.Rule}, Reason: " we built it "}}
	report := ask(accept)
	if len(report.Accepted) != 1 || report.Accepted[0].Reason != "we built it" || report.Accepted[0].By.Kind != actor.Kind || report.Accepted[0].At.IsZero() || report.Decision != pannier.ScanWarn || len(report.Blocking()) > 0 {
		t.Errorf("report %+v", report)
	}
	if log := h.audited(t); !strings.Contains(log, `"rules":["scan.file.elf"],"reason":" we built it "`) || !strings.Contains(log, `"blocking":["scan.file.elf"],"accepted":[{"rule":"scan.file.elf","reason":"we built it"`) {
		t.Errorf("audit log:\n%s", log)
	}
	if v, _, err := h.verdicts.Get(content); err != nil || v.Decision != pannier.ScanBlock || len(v.Accepted) > 0 {
		t.Errorf("kept %+v, %v", v, err) // for other places it blocks
	}
	if report = ask(pannier.ScanRequest{}); len(report.Accepted) != 1 || report.Decision != pannier.ScanWarn {
		t.Errorf("a later scan: %+v", report)
	}
	other := pannier.DigestOf([]byte("other"))
	h.prints = func() (pannier.Digest, error) { return other, nil }
	if report = ask(pannier.ScanRequest{}); len(report.Accepted) > 0 || report.Decision != pannier.ScanBlock {
		t.Errorf("another content: %+v", report)
	}
	h.prints = func() (pannier.Digest, error) { return content, nil }
	if report = ask(pannier.ScanRequest{Withdraw: true}); len(report.Accepted) > 0 || report.Decision != pannier.ScanBlock || len(h.verdicts.Accepted(skill.Path, content)) > 0 {
		t.Errorf("taken back: %+v", report)
	}
}

// TestAcceptRefused: a request that cannot be met changes nothing.
func TestAcceptRefused(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		req        pannier.AcceptRequest
		audited    int
	}{
		{"no such rule", "scan.accept.rule", pannier.AcceptRequest{Rules: []string{"scan.none"}, Reason: "r"}, 0},
		{"the word that takes back, among rules", "scan.accept.rule", pannier.AcceptRequest{Rules: []string{elf.Rule, pannier.AcceptNone}, Reason: "r"}, 0},
		{"no rule", "scan.accept.rule", pannier.AcceptRequest{Reason: "r"}, 0},
		{"no reason", "scan.accept.reason", pannier.AcceptRequest{Rules: []string{elf.Rule}}, 0},
		{"a blank reason", "scan.accept.reason", pannier.AcceptRequest{Rules: []string{elf.Rule}, Reason: " \n"}, 0},
		{"a long reason", "scan.accept.reason", pannier.AcceptRequest{Rules: []string{elf.Rule}, Reason: strings.Repeat("r", pannier.MaxAcceptReasonBytes+1)}, 0},
		{"control characters", "scan.accept.reason", pannier.AcceptRequest{Rules: []string{elf.Rule}, Reason: "a\x1b[31mb"}, 0},
		{"too many", "scan.accept.limit", pannier.AcceptRequest{Rules: make([]string, pannier.MaxAcceptedRules+1), Reason: "r"}, 0},
		{"a rule that was not found", "scan.accept.not_found", pannier.AcceptRequest{Rules: []string{elf.Rule, "scan.file.pe"}, Reason: "r"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newScanned(t, t.TempDir())
			_, _, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{Accept: tt.req})
			if refusal, ok := errors.AsType[*pannier.Refusal](err); !ok || refusal.Code != tt.code || refusal.Hint == "" {
				t.Errorf("%v", err)
			}
			if h.kept(t) || len(h.verdicts.Accepted(skill.Path, content)) > 0 {
				t.Error("something is kept")
			}
			if log := strings.TrimSpace(h.audited(t)); log == "" && tt.audited > 0 || log != "" && strings.Count(log, "\n")+1 != tt.audited {
				t.Errorf("audit log:\n%s", log)
			}
		})
	}
}
