package service

import (
	"errors"
	"fmt"

	"pannier"
)

// The codes of refusals that a client can be about to correct by a retry, or that protocols report in their own way.
const (
	CodeNotReady = "not_ready"
	CodeChanging = "changing"
)

// Refusals that are about no skill.
var (
	ErrNotReady = refuse(CodeNotReady, "the first scan of the workspace has not ended", "retry in a moment")
	ErrChanging = refuse(CodeChanging, "the skill keeps changing while it is read", "retry in a moment")
)

func refuse(code, message, hint string) *pannier.Refusal {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

// Find returns the skill that owns a slug, "slug" or "owner/slug"; with a path, the one that lies there, which also
// reaches a skill that is shadowed.
func Find(s *pannier.Snapshot, ref, path string) (*pannier.Entry, error) {
	e, ok := s.Lookup(ref)
	if path != "" {
		e, ok = s.LookupPath(ref, path)
	}
	if !ok {
		return nil, NotFound(ref, path)
	}
	return e, nil
}

// NotFound refuses a name that is that of no skill, or of none at a path unless that is empty.
func NotFound(ref, path string) error {
	message := fmt.Sprintf("skill %.100q not found", ref)
	if path != "" {
		message += fmt.Sprintf(" at %.200q", path)
	}
	return refuse("skill_not_found", message, `run "pannier list" to see all skills`)
}

func showHint(e *pannier.Entry) string { return `run "pannier show ` + e.Slug + `" to see more` }

// CheckUsable refuses a skill that cannot be used. It says why by the state: a skill can have reasons against it
// besides.
func CheckUsable(e *pannier.Entry) error {
	if e.Usable {
		return nil
	}
	message, hint := fmt.Sprintf("%s is %s", e.Slug, e.State), showHint(e)
	switch {
	case e.State == pannier.StateUnlisted:
		hint = fmt.Sprintf("add %q to the list under skills in config.yaml", e.Folder)
	case (e.State == pannier.StateIneligible || e.State == pannier.StateDisabled) && len(e.Reasons) > 0:
		message, hint = fmt.Sprintf(
			"%s cannot be used: %s (%s)", e.Slug, e.Reasons[0].Code, e.Reasons[0].Subject,
		), e.Reasons[0].Remedy
	}
	return refuse("skill_"+string(e.State), message, hint)
}

// CheckInstructions refuses a skill whose instructions agents may not read, or that has none.
func CheckInstructions(e *pannier.Entry) error {
	if err := CheckUsable(e); err != nil {
		return err
	}
	switch {
	case e.ToolsOnly:
		return refuse(
			"skill_tools_only", e.Slug+" has tools and no instructions",
			"add a SKILL.md beside tools/ to give it instructions",
		)
	case isHeld(e):
		return held(e)
	}
	return nil
}

// isHeld reports whether a skill is listed as it last was, because the disk has no readable text of it.
func isHeld(e *pannier.Entry) bool { return e.Broken || e.LastGood || e.Deleting }

// held says why a usable skill has no text that can be read.
func held(e *pannier.Entry) error {
	hint := "fix its SKILL.md"
	if e.Deleting {
		hint = "its directory is gone; put it back, or it is listed no more in a moment"
	} else if len(e.Problems) > 0 {
		hint = e.Problems[0].String() + "; " + e.Problems[0].Hint
	}
	return refuse("skill_held", e.Slug+" is listed as it last was; its text on disk can no longer be read", hint)
}

// checkOffered refuses a skill that a model may not choose by itself.
func checkOffered(e *pannier.Entry) error {
	if e.Automatic() {
		return nil
	}
	return refuse("skill_not_offered", e.Slug+" is only for people to call", "ask the user to call it by its prompt")
}

// refused returns why a text or a file of a skill is not served. Errors that are about no file come back as they are.
func refused(e *pannier.Entry, err error) error {
	if errors.Is(err, pannier.ErrNotServable) {
		return held(e)
	}
	fault, ok := errors.AsType[*pannier.FileError](err)
	if !ok {
		return err
	}
	var message, hint string
	switch fault.Fault {
	case pannier.FileMissing:
		message, hint = fmt.Sprintf(
			"%s has no file %.200q", e.Slug, fault.Path,
		), `run "pannier show `+e.Slug+`" to see its files`
	case pannier.FileIsDirectory:
		message, hint = fmt.Sprintf(
			"%.200q of %s is a directory", fault.Path, e.Slug,
		), `name a file in it; run "pannier show `+e.Slug+`" to see its files`
	case pannier.FileSkipped:
		message, hint = fmt.Sprintf(
			"%.200q is, or leads to, a dot file or a file in a skipped directory, so it is not a file of %s",
			fault.Path, e.Slug,
		), "rename it without a dot, and keep it out of directories that the setting skip names"
	case pannier.FileOutside:
		message, hint = fmt.Sprintf(
			"%.200q leads out of the directory of %s", fault.Path, e.Slug,
		), "name the file by its path below the skill directory; links must stay in it"
	case pannier.FileForeign:
		message, hint = fmt.Sprintf(
			"%.200q has several hard links, and another owner than the directory of %s", fault.Path, e.Slug,
		), "replace the hard link by a copy, or give both the same owner"
	case pannier.FileSpecial:
		message, hint = fmt.Sprintf(
			"%.200q of %s is not a regular file", fault.Path, e.Slug,
		), "only regular files are served"
	case pannier.FileTooLarge:
		message, hint = fmt.Sprintf(
			"%.200q of %s is larger than what is served", fault.Path, e.Slug,
		), "read it from the directory of the skill"
	default:
		message, hint = fmt.Sprintf(
			"%.200q of %s cannot be read", fault.Path, e.Slug,
		), "make it readable for the user that pannier runs as"
	}
	return refuse(string(fault.Fault), message, hint)
}
