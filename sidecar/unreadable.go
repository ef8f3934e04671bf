package sidecar

import (
	"path"
	"slices"

	"pannier"
)

// codeCardWithheld is the code of the problem that no card is offered to the platforms, because something that it would
// have to tell of could not be read yet.
const codeCardWithheld = "card.withheld"

// unreadable finds out what this process could not read yet. The platform may hold a card of a process that could, and
// one that lacks what cannot be read must not take its place. What was read once stays as it was, and so does no harm;
// what does not exist is not a fault. It is for one caller at a time.
type unreadable struct {
	roots []pannier.Root
	read  map[string]bool // roots that were read, by name
}

// problems returns one for each thing that holds the card of a scan back. Nil finds none.
//
// They go into the snapshot, so that a card is judged by the scan that it is made of, and the end of a problem is a new
// snapshot, whose card is pushed.
func (u *unreadable) problems(c pannier.Catalog, w pannier.Workspace) []pannier.Problem {
	if u == nil {
		return nil
	}
	var unread []string
	if !w.LastGood && w.Fields == nil && slices.ContainsFunc(w.Problems, func(p pannier.Problem) bool {
		return p.Path == pannier.WorkspaceFile && p.Severity == pannier.SeverityError
	}) {
		unread = append(unread, pannier.WorkspaceFile)
	}
	for _, root := range u.roots {
		failed := func(codes ...string) bool {
			return slices.ContainsFunc(c.Problems, func(p pannier.Problem) bool { return p.Path == root.Name && slices.Contains(codes, p.Code) })
		}
		switch {
		case failed("root.unreadable", "root.not_directory"):
			if !u.read[root.Name] { // of one that was read, the skills are kept
				unread = append(unread, root.Name)
			}
		case failed("root.missing"):
			delete(u.read, root.Name)
		default:
			u.read[root.Name] = true
		}
	}
	if len(unread) == 0 && noneReadable(c) {
		unread = append(unread, "skills")
	}
	var problems []pannier.Problem
	for _, what := range unread {
		problems = append(problems, pannier.Problem{
			Code: codeCardWithheld, Severity: pannier.SeverityError, Path: what,
			Message: "no card is pushed: this could not be read since the sidecar started, and the platform keeps the card that it has rather than get one without it",
			Hint:    "make it readable for the user that pannier runs as, as the other conditions say; the card is pushed once it is read, without a restart",
		})
	}
	return problems
}

// noneReadable reports whether there is no skill, and something that cannot be read in its place. One of many skills is
// another matter: its fault touches that skill alone.
func noneReadable(c pannier.Catalog) bool {
	unreadable := slices.ContainsFunc(c.Problems, func(p pannier.Problem) bool {
		return p.Code == "root.directory_unreadable" && path.Base(p.Path) != "lost+found" // which is in every ext4
	})
	for _, s := range c.Skills {
		if !s.Broken {
			return false
		}
		unreadable = unreadable || slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == "skill.file.unreadable" })
	}
	return unreadable
}
