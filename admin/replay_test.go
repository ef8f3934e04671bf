package admin_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/contents"
	"pannier/internal/policyfile"
	"pannier/internal/state"
)

// replayed applies entries to nothing.
func replayed(t *testing.T, entries []pannier.AuditEntry) (*policy.Store, *contents.Verdicts, *admin.Replay, error) {
	t.Helper()
	file := policyfile.New(policyfile.Generation{})
	policies, err := policy.Open(file)
	verdicts, err2 := contents.OpenVerdicts(state.Memory(), file)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	r := &admin.Replay{Policy: policies, Verdicts: verdicts}
	for _, e := range entries {
		r.Apply(e)
	}
	return policies, verdicts, r, r.Finish()
}

// TestReplay leads from nothing to the policy and the blocks that were made, by the audit log alone.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	h := newScanned(t, dir)
	for range 2 {
		if _, _, err := h.fixture.Service.SetPolicy(t.Context(), actor, pdf, off); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{}); err != nil {
		t.Fatal(err)
	}
	h.prints = func() (pannier.Digest, error) { return pannier.Digest{}, errDiskFull }
	other := &pannier.Skill{Slug: "big", Path: "skills/big", Digest: content}
	if _, _, err := h.Scan(t.Context(), actor, other, pannier.ScanRequest{}); err != nil {
		t.Fatal(err)
	}
	var entries []pannier.AuditEntry
	report, err := audit.Each(dir+"/audit", func(e pannier.AuditEntry) { entries = append(entries, e) })
	if err != nil || report.Newest.Seq != uint64(len(entries)) || len(entries) != 8 {
		t.Fatalf("%+v, %d entries, %v", report, len(entries), err)
	}
	for range 2 {
		policies, verdicts, r, err := replayed(t, entries)
		if err != nil || r.Interrupted {
			t.Errorf("interrupted %t, %v", r.Interrupted, err)
		}
		if got := policies.All()[pdf]; !got.Equal(h.fixture.Service.Policies()[pdf]) || *got.Enabled {
			t.Errorf("policy %+v", got)
		}
		if of, _ := verdicts.Summary(content); !of.AlwaysBlocks() || verdicts.Blocked()["skills/pdf"] != content {
			t.Errorf("verdict %+v, blocked %v", of, verdicts.Blocked())
		}
		if held := verdicts.PathVerdicts()["skills/big"]; held.Digest != content || !slices.Equal(held.Rules, []string{elf.Rule}) {
			t.Errorf("held %+v", held)
		}
		entries = append(entries, entries[:2]...) // applying an outcome twice changes nothing
	}
}

// TestReplayOfIntents: of a change that a crash interrupted, a refusal counts and a grant does not.
func TestReplayOfIntents(t *testing.T) {
	intent := func(seq uint64, action string, detail any) pannier.AuditEntry {
		return pannier.AuditEntry{Seq: seq, Phase: pannier.AuditIntent, Action: action, Slug: "pdf", Detail: detail}
	}
	said := func(enabled string) map[string]any {
		return map[string]any{"source_kind": "workspace", "enabled": map[string]any{"true": true, "false": false, "null": nil}[enabled]}
	}
	outcome := pannier.AuditEntry{Seq: 2, Intent: 1, Phase: pannier.AuditOutcome, Action: pannier.ActionSetPolicy, Slug: "pdf", Detail: map[string]any{
		"source_kind": "workspace", "after": map[string]any{"enabled": false, "path": "skills/pdf"},
	}}
	for _, enabled := range []string{"true", "null"} {
		policies, _, _, err := replayed(t, []pannier.AuditEntry{intent(1, pannier.ActionSetPolicy, said("false")), outcome, intent(3, pannier.ActionSetPolicy, said(enabled))})
		if got := policies.All()[pdf]; err != nil || got.Enabled == nil || *got.Enabled || got.Path != "skills/pdf" {
			t.Errorf("%s: %+v, %v", enabled, got, err)
		}
	}
	policies, _, _, err := replayed(t, []pannier.AuditEntry{intent(1, pannier.ActionSetPolicy, said("false"))})
	if got := policies.All()[pdf]; err != nil || got.Enabled == nil || *got.Enabled {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, r, err := replayed(t, []pannier.AuditEntry{intent(1, pannier.ActionScan, map[string]any{"path": "skills/pdf"})}); err != nil || !r.Interrupted {
		t.Errorf("interrupted %t, %v", r.Interrupted, err)
	}
	failed := outcome
	failed.Error = "disk full"
	if policies, _, _, err = replayed(t, []pannier.AuditEntry{failed}); err != nil || len(policies.All()) > 0 {
		t.Errorf("%v, %v", policies.All(), err)
	}
}

// TestReplayOfEverySwitch interrupts a refusal and a grant of each switch: a refusal holds, a grant does not.
func TestReplayOfEverySwitch(t *testing.T) {
	for _, name := range switchNames() {
		for _, on := range []bool{true, false} {
			policies, _, _, err := replayed(t, []pannier.AuditEntry{{
				Seq: 1, Phase: pannier.AuditIntent, Action: pannier.ActionSetPolicy, Slug: "pdf",
				Detail: map[string]any{"source_kind": "workspace", name: on},
			}})
			if got := policies.All()[pdf]; err != nil || got.IsZero() != on || got.Grants() {
				t.Errorf("%s, %t: %+v, %v", name, on, got, err)
			}
		}
	}
}

// switchNames returns the names of the switches of a skill, as clients write them.
func switchNames() (names []string) {
	for field := range reflect.TypeFor[pannier.Switches]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
