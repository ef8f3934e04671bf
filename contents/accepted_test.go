package contents_test

import (
	"errors"
	"fmt"
	"testing"

	"pannier"
	"pannier/contents"
	"pannier/internal/state"
)

func accepted(rules ...string) []pannier.Acceptance {
	return pannier.AcceptRequest{Rules: rules, Reason: "r"}.Acceptances(nil, pannier.Actor{Kind: "socket"}, noon)
}

// TestAcceptedSurvivesARestart: an acceptance holds for one content at one path, over a restart and without the database.
func TestAcceptedSurvivesARestart(t *testing.T) {
	blocks := state.Memory()
	s, err := contents.OpenVerdicts(state.Memory(), blocksIn{blocks})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(s.Accept("skills/\xff", digest(1), accepted("scan.a", "scan.b")), s.Accept("skills/x", digest(2), accepted("scan.a")), s.Accept("skills/y", digest(3), accepted("scan.a")))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Accept("skills/x", digest(2), nil), s.Withdraw("skills/y")); err != nil {
		t.Fatal(err)
	}
	if s, err = contents.OpenVerdicts(state.Memory(), blocksIn{blocks}); err != nil {
		t.Fatal(err)
	}
	if got := s.Accepted("skills/\xff", digest(1)); len(got) != 2 || got[0].Rule != "scan.a" || got[0].Reason != "r" || got[0].By.Kind != "socket" || !got[0].At.Equal(noon) {
		t.Errorf("accepted %+v", got)
	}
	if a, b, c, d := s.Accepted("skills/\xff", digest(2)), s.Accepted("skills/z", digest(1)), s.Accepted("skills/x", digest(2)), s.Accepted("skills/y", digest(3)); len(a)+len(b)+len(c)+len(d) > 0 {
		t.Errorf("accepted elsewhere: %v %v %v %v", a, b, c, d)
	}
}

func TestAcceptedIsBounded(t *testing.T) {
	s := open(t, state.Memory())
	refused := func(err error) bool {
		r, ok := errors.AsType[*pannier.Refusal](err)
		return ok && r.Code == "scan.accept.full"
	}
	for n := range contents.MaxAccepted {
		if err := s.Accept("skills/x", digest(n+1), accepted("scan.a")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Accept("skills/y", digest(1), accepted("scan.a")); !refused(err) {
		t.Errorf("one more: %v", err)
	}
	if err := s.Accept("skills/x", digest(1), accepted("scan.b")); err != nil {
		t.Errorf("in the place of another: %v", err)
	}
	var many []string
	for n := range pannier.MaxAcceptedRules + 1 {
		many = append(many, fmt.Sprint("scan.", n))
	}
	if err := s.Accept("skills/x", digest(2), accepted(many...)); !refused(err) || len(s.Accepted("skills/x", digest(2))) != 1 {
		t.Errorf("many rules: %v", err)
	}
}
