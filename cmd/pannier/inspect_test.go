package main

import (
	"net/http"
	"testing"

	"pannier"
)

// TestInspectFiles looks at files of skills that are faulty, shadowed or switched off, as a person does who looks for the reason.
func TestInspectFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, `
mkdir -p skills/faulty skills/held skills/one skills/two
printf -- '---\nname: [faulty\n---\nText.\n' > skills/faulty/SKILL.md
printf -- '---\nname: held\ndescription: Good.\n---\nGood.\n' > skills/held/SKILL.md
printf -- '---\nname: one\nslug: same\ndescription: First.\n---\nFirst.\n' > skills/one/SKILL.md
printf -- '---\nname: two\nslug: same\ndescription: Second.\n---\nSecond.\n' > skills/two/SKILL.md
`)
	s := startSidecar(t, w, "--platform-url", "off")
	s.write(t, `printf -- '---\nname: [held\n---\nBroken.\n' > skills/held/SKILL.md`)
	need(t, s.Rescan(t.Context()))
	for target, want := range map[string]string{
		"/v1/skills/faulty/files/SKILL.md": "---\nname: [faulty\n---\nText.\n",
		"/v1/skills/held/files/SKILL.md":   "---\nname: [held\n---\nBroken.\n",
	} {
		if status := s.status(t, target); status != http.StatusConflict {
			t.Errorf("an agent reads %s: %d", target, status)
		}
		if got := s.answerTo(t, "GET", target+"?inspect=1", ""); string(got) != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	req := must(http.NewRequestWithContext(t.Context(), "GET", "http://pannier/v1/skills/faulty/files/SKILL.md?inspect=1", nil))(t)
	req.Header.Set("Pannier-Scope", "read")
	if resp, err := s.HTTP.Do(req); err != nil {
		t.Fatal(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an inspection by a client that may only read: %d", resp.StatusCode)
	}
	const shadowed = "?inspect=1&skill_path=skills%2Ftwo"
	if got := s.answerTo(t, "GET", "/v1/skills/same/files/SKILL.md"+shadowed, ""); string(got) != "---\nname: two\nslug: same\ndescription: Second.\n---\nSecond.\n" {
		t.Errorf("shadowed: %q", got)
	}
	for target, want := range map[string]int{
		"/v1/skills/same/files/SKILL.md?skill_path=skills%2Ftwo":          http.StatusConflict,
		"/v1/skills/same/files/SKILL.md?inspect=1&skill_path=elsewhere":   http.StatusNotFound,
		"/v1/skills/same/files/..%2Ftwo%2FSKILL.md?inspect=1":             http.StatusForbidden,
		"/v1/skills/same/files/.git/config?inspect=1&skill_path=skills/1": http.StatusNotFound,
	} {
		if status := s.status(t, target); status != want {
			t.Errorf("%s: %d, want %d", target, status, want)
		}
	}
	s.answerTo(t, "GET", "/v1/skills/same/files/SKILL.md", "")
	loaded := 0
	for _, e := range s.all(t) {
		switch e.Type {
		case pannier.EventSkillLoaded:
			loaded++
		case pannier.EventSkillFileRead:
			t.Errorf("an inspection was recorded: %+v", e)
		}
	}
	if loaded != 1 {
		t.Errorf("%d texts were served, want the one that was no inspection", loaded)
	}
}
