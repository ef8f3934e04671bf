package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pannier"
	"pannier/internal/yamldoc"
)

// The values of fields that config.yaml does not give: those of the agent's own loader.
const (
	defaultName    = "Workspace"
	defaultVersion = "1.0.0"
)

// WorkspaceReader reads the config.yaml of a workspace and the files of the system prompt that it names, and remembers
// what they last said. It is not for concurrent use.
type WorkspaceReader struct {
	dir, path string
	now       func() time.Time
	good      *workspaceReading // nil until the file was read once
	seen      readState         // of the file that good is of
	grace     time.Duration
	gone      time.Time // when a scan first did not find the file; zero where the last one did, or there was none
	prompts   promptReader
	watched   []string
}

type workspaceReading struct {
	w       pannier.Workspace
	prompts []listedPrompt
}

// NewWorkspaceReader returns a reader for the workspace dir. It reads nothing yet. A config.yaml that vanishes is what it
// last said for as long as grace, so that a rename dance does not show what its list keeps private.
func NewWorkspaceReader(dir string, grace time.Duration) *WorkspaceReader {
	return &WorkspaceReader{dir: dir, path: filepath.Join(dir, pannier.WorkspaceFile), now: time.Now, grace: grace, prompts: promptReader{dir: dir}}
}

// Due returns when the grace of a config.yaml that has vanished ends, and so another scan is due; zero is never.
func (r *WorkspaceReader) Due() time.Time {
	if r.gone.IsZero() || !r.now().Before(r.gone.Add(r.grace)) {
		return time.Time{}
	}
	return r.gone.Add(r.grace)
}

// Read looks at the files and returns what they say. It never fails, never blocks on a file that is not regular, and its
// result is never changed afterwards. A file that is sure not to have changed is not read again.
//
// Where there is no config.yaml, and its grace is over, every field has its default and Fields is nil. Where there is one that cannot be read
// or parsed, it is what the file last said, marked [pannier.Workspace.LastGood], or else the defaults; an error among the
// problems tells why. The files of the system prompt are read in any case, as long as there is a workspace.
func (r *WorkspaceReader) Read() pannier.Workspace {
	look := r.now()
	read := r.readConfig(look)
	w := read.w
	if slices.ContainsFunc(w.Problems, func(p pannier.Problem) bool { return p.Code == CodeWorkspaceMissing }) {
		r.prompts.known, r.prompts.watched, r.prompts.entries = nil, nil, nil
		r.watched = nil
		return w
	}
	found := r.prompts.look(read.prompts, look)
	r.watched = sorted(linked(r.path), r.prompts.watched)
	w.Prompts, w.Problems = found.files, slices.Concat(w.Problems, found.problems)
	return w
}

// Watched returns what is to be watched besides the workspace itself, absolute and sorted, as of the last
// [WorkspaceReader.Read]: the directories below it that the files of the system prompt lie in, whether they are there or not,
// and the path of each of these files and of config.yaml that is a link. The watcher takes such a path for a directory that is
// missing, and goes its way.
func (r *WorkspaceReader) Watched() []string { return r.watched }

// Entries returns the names right in the workspace, sorted, that the files of the system prompt are found by, whether they
// are there or not: those of the files themselves, or of the first directories on the way. It is nil before the first
// [WorkspaceReader.Read], and while there is no workspace.
func (r *WorkspaceReader) Entries() []string { return r.prompts.entries }

func (r *WorkspaceReader) readConfig(look time.Time) workspaceReading {
	if info, err := os.Stat(r.path); err == nil && r.seen.holds(readStateOf(info, look)) {
		r.gone = time.Time{}
		return *r.good
	}
	text, info, err := readFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(r.dir); errors.Is(err, fs.ErrNotExist) {
			p := fileProblem(CodeWorkspaceMissing, pannier.SeverityError, "", "the workspace does not exist",
				"check the path and the mount; until it is there no card is pushed, and what the platform holds stays")
			p.Path = r.dir
			return nothing(p)
		}
		return r.missed(look)
	}
	r.gone = time.Time{}
	if err != nil {
		refused := refusalOf(err)
		p := fileProblem(codePrefix+refused.code, pannier.SeverityError, "", refused.message, refused.hint)
		p.Line = refused.line
		return r.last(p)
	}
	read, problem := parseWorkspace(text)
	if problem != nil {
		return r.last(*problem)
	}
	r.good, r.seen = &read, readStateOf(info, look)
	return read
}

// missed returns what a file says that is not there: in its grace what it last said, then nothing.
func (r *WorkspaceReader) missed(look time.Time) workspaceReading {
	if r.good == nil {
		return nothing(missing())
	}
	if r.gone.IsZero() {
		r.gone = look
	}
	if look.Before(r.gone.Add(r.grace)) {
		return r.last(fileProblem(codeMissing, pannier.SeverityWarning, "",
			"config.yaml has vanished: what it last said still holds for a moment", "put it back; without it every skill is selected"))
	}
	r.good, r.seen, r.gone = nil, readState{}, time.Time{}
	return nothing(missing())
}

// last returns what the file last said, with the problem that it has now. Those that it had then are of lines that may
// be gone.
func (r *WorkspaceReader) last(p pannier.Problem) workspaceReading {
	if r.good == nil {
		return nothing(p)
	}
	all := slices.Clone(r.good.prompts) // in a file that is broken they may stand elsewhere
	for i := range all {
		all[i].line, all[i].column = 0, 0
	}
	read := workspaceReading{w: r.good.w, prompts: all}
	read.w.LastGood = true
	read.w.Problems = []pannier.Problem{p}
	return read
}

// nothing is what a workspace says without a config.yaml.
func nothing(p pannier.Problem) workspaceReading {
	read := workspaceReading{w: defaultWorkspace(), prompts: defaultPrompts()}
	read.w.Problems = []pannier.Problem{p}
	return read
}

func defaultWorkspace() pannier.Workspace {
	return pannier.Workspace{Name: defaultName, Version: defaultVersion, Streaming: true, PushNotifications: true}
}

// parseWorkspace returns what text says, or the problem for which it says nothing.
func parseWorkspace(text []byte) (workspaceReading, *pannier.Problem) {
	doc, repeated, err := yamldoc.Parse(text)
	if fault, ok := errors.AsType[*yamldoc.Fault](err); ok {
		p := syntax(codeSyntax, pannier.SeverityError, *fault)
		return workspaceReading{}, &p
	}
	p := workspaceParser{workspaceReading: workspaceReading{w: defaultWorkspace()}}
	for _, fault := range repeated {
		p.w.Problems = append(p.w.Problems, syntax(codeRepeatedKey, pannier.SeverityWarning, fault))
	}
	p.text(&p.w.Name, "name", doc)
	p.text(&p.w.Description, "description", doc)
	p.text(&p.w.Version, "version", doc)
	p.text(&p.w.Runtime, "runtime", doc)
	p.skills(doc.Get("skills"))
	v := doc.Get("a2a")
	switch v.Kind() {
	case yamldoc.Map:
		p.truth(&p.w.Streaming, "a2a.streaming", v.Get("streaming"))
		p.truth(&p.w.PushNotifications, "a2a.push_notifications", v.Get("push_notifications"))
	case yamldoc.Text, yamldoc.List:
		p.warn(codeType, "a2a", v, "this is "+v.Kind().String()+", not a mapping", "write its keys on lines of their own, indented")
	}
	p.promptFiles(doc.Get(keyPrompts))
	all := map[string]pannier.Digest{} // of meanings, so that a new layout or comment does not count as a change
	var b []byte
	for pair := range doc.Pairs() {
		b = pair.Value.AppendMeaning(b[:0])
		all[pair.Key] = pannier.DigestOf(b)
	}
	keys := appendKeys(nil, "", doc, 1) // of what is something; a key that holds a dot itself is left out
	slices.Sort(keys)
	p.w.Fields, p.w.Keys = all, slices.Compact(keys)
	return p.workspaceReading, p.refused
}
