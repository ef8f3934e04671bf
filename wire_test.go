package pannier_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"pannier"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everything returns a list with every kind of entry. Nothing in it is left out of the JSON.
func everything() pannier.List {
	digest := pannier.DigestOf([]byte("text"))
	full := &pannier.Entry{
		Skill: &pannier.Skill{
			Slug: "pdf-tools", Owner: "acme", Path: "skills/PDF_Tools", Root: "skills", SourceKind: pannier.SourceWorkspace,
			Name: "PDF Tools", Description: "Fills in forms", Version: "1.0", License: "MIT", Homepage: "https://x.test", Emoji: "📄",
			Runtimes: []string{"crewai"}, Tags: []string{"pdf"}, Examples: []string{"Fill it in"}, AllowedTools: []string{"Bash(git add:*)"},
			UserInvocable: true, DisableModelInvocation: true, Digest: digest, MetaDigest: digest, LastGood: true,
		},
		ID: "PDF_Tools", State: pannier.StateEligible, Usable: true, Reasons: []pannier.Reason{},
		Problems: []pannier.Problem{{
			Code: "skill.type", Severity: pannier.SeverityWarning, Path: "skills/PDF_Tools/SKILL.md", Line: 3, Column: 2, Field: "tags", Message: "wrong", Hint: "mend it",
		}},
	}
	bare := func(slug string, state pannier.State) *pannier.Entry {
		return &pannier.Entry{
			Skill: &pannier.Skill{Slug: slug, Path: "skills/" + slug, Root: "skills", SourceKind: pannier.SourceManaged, Name: slug},
			ID:    slug, State: state, Reasons: []pannier.Reason{},
		}
	}
	ineligible, shadowed, unlisted := bare("needy", pannier.StateIneligible), bare("pdf-tools", pannier.StateShadowed), bare("spare", pannier.StateUnlisted)
	ineligible.Deleting = true
	ineligible.Reasons = []pannier.Reason{{Code: pannier.ReasonMissingBinary, Subject: "jq", Remedy: "install jq"}}
	shadowed.Path, shadowed.ShadowedBy = "managed/pdf-tools", "skills/PDF_Tools"
	return pannier.List{
		SnapshotVersion: 7, Digest: digest, TreeDigest: digest, GeneratedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		EnvironmentSource: pannier.EnvironmentSidecar, Held: pannier.Held{LastGood: []string{"pdf-tools"}, Deleting: []string{"needy"}},
		Skills: []*pannier.Entry{ineligible, full, shadowed, unlisted},
	}
}

func TestListGolden(t *testing.T) {
	list := everything()
	got, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const file = "testdata/list.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s", got)
	}
	var back pannier.List
	if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, list) {
		t.Errorf("%v: came back as %+v", err, back)
	}
}

func TestDetailComesBack(t *testing.T) {
	for _, e := range everything().Skills {
		d := pannier.Detail{
			Entry:        *e,
			Requirements: pannier.Requirements{Bins: []string{"jq"}, AnyBins: []string{"node"}, Env: []string{"KEY"}, OS: []string{"linux"}, Always: true},
			Frontmatter:  json.RawMessage(`{"name":"x","unknown":[1,null]}`),
			Files:        []pannier.File{{Path: "scripts/a.sh", Size: 3, Executable: true}}, FilesTruncated: true, CollidesWith: []string{"managed/pdf-tools"},
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back pannier.Detail
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("%v: %s came back as %+v", err, text, back)
		}
	}
}

func TestEntryComesBack(t *testing.T) {
	for _, e := range everything().Skills {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back pannier.Entry
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(&back, e) {
			t.Errorf("%v: %s came back as %+v", err, text, back)
		}
	}
}

func TestTurnComesBack(t *testing.T) {
	turn := pannier.Turn{
		Text: "$pdf", Runtime: "crewai", Format: "available_skills", Limits: pannier.Limits{MaxChars: new(int), MaxBodies: new(int)},
		Paths: []string{"a/b"}, ProjectDir: "/p", Tools: []string{},
		Capabilities: []pannier.Capability{{ID: "1", Slug: "acme/pdf", SourceKind: pannier.SourceManaged, Label: "PDF"}},
	}
	text, err := json.Marshal(turn)
	if err != nil {
		t.Fatal(err)
	}
	var back pannier.Turn
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, turn) {
		t.Errorf("%v: %s came back as %+v", err, text, back)
	}
	if text, err := json.Marshal(pannier.Turn{}); err != nil || string(text) != "{}" {
		t.Errorf("an empty turn is %s, %v", text, err)
	}
}
