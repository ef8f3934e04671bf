package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pannier"
	"pannier/internal/yamldoc"
)

// The values of fields that config.yaml does not give: those of the agent's own loader.
const (
	defaultName    = "Workspace"
	defaultVersion = "1.0.0"
)

// WorkspaceReader reads the config.yaml of a workspace and remembers what it last said. It is not for concurrent use.
type WorkspaceReader struct {
	path     string
	lastGood *pannier.Workspace // nil until the file was read once
}

// NewWorkspaceReader returns a reader for the config.yaml in dir. It does not look at it yet.
func NewWorkspaceReader(dir string) *WorkspaceReader {
	return &WorkspaceReader{path: filepath.Join(dir, pannier.WorkspaceFile)}
}

// Read looks at the file and returns what it says. It never fails, never blocks on what is no regular file, and its
// result is never changed afterwards.
//
// Where there is no file, every field has its default. Where there is one that can not be read or parsed, it is what the
// file last said, marked [pannier.Workspace.LastGood], or else the defaults; an error among the problems tells why.
func (r *WorkspaceReader) Read() pannier.Workspace {
	text, err := readFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(r.path)); errors.Is(err, fs.ErrNotExist) {
			return withProblem(defaultWorkspace(), workspaceMissing(filepath.Dir(r.path)))
		}
		return withProblem(defaultWorkspace(), missing())
	}
	if err != nil {
		return r.last(unreadable(refusalOf(err)))
	}
	w, problem := parseWorkspace(text)
	if problem != nil {
		return r.last(*problem)
	}
	r.lastGood = &w
	return w
}

// last returns what the file last said, with the problem that it has now. Those that it had then are of lines that may
// be gone.
func (r *WorkspaceReader) last(p pannier.Problem) pannier.Workspace {
	if r.lastGood == nil {
		return withProblem(defaultWorkspace(), p)
	}
	w := *r.lastGood
	w.LastGood = true
	return withProblem(w, p)
}

func withProblem(w pannier.Workspace, p pannier.Problem) pannier.Workspace {
	w.Problems = []pannier.Problem{p}
	return w
}

func defaultWorkspace() pannier.Workspace {
	return pannier.Workspace{Name: defaultName, Version: defaultVersion, Streaming: true, PushNotifications: true}
}

// parseWorkspace returns what text says, or the problem for which it says nothing.
func parseWorkspace(text []byte) (pannier.Workspace, *pannier.Problem) {
	doc, repeated, err := yamldoc.Parse(text)
	if fault, ok := errors.AsType[*yamldoc.Fault](err); ok {
		p := syntax(fault)
		return pannier.Workspace{}, &p
	}
	p := workspaceParser{w: defaultWorkspace()}
	for _, fault := range repeated {
		p.add(pannier.Problem{Code: codeRepeatedKey, Line: fault.Line, Column: fault.Column, Message: fault.Message, Hint: fault.Hint})
	}
	p.fields(doc)
	return p.w, nil
}
