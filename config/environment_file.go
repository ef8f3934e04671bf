package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pannier"
)

// EnvironmentReader reads the facts of the agent's container from the file that `pannier environment` wrote there, and
// remembers what it last said. It is not for concurrent use.
type EnvironmentReader struct {
	path string
	now  func() time.Time
	good *pannier.Environment // nil while there is nothing to go by
	seen readState            // of the file that good is of
}

// NewEnvironmentReader returns a reader for the file at path, which need not exist; an empty path is of no file.
func NewEnvironmentReader(path string) *EnvironmentReader {
	return &EnvironmentReader{path: path, now: time.Now}
}

// Watched returns what is to be watched, absolute and sorted: the directory of the file, and its own path where it is a link, as
// [WorkspaceReader.Watched] has it. It is empty where there is no file.
func (r *EnvironmentReader) Watched() []string {
	if r.path == "" {
		return nil
	}
	file, err := filepath.Abs(r.path)
	if err != nil {
		return nil // the working directory is gone
	}
	return append([]string{filepath.Dir(file)}, linked(file)...)
}

// Read looks at the file and returns what it says, nil where there is none. One that cannot be read or parsed is what it
// last said, and the problem tells why. Without a time in it, the facts are as old as the file.
func (r *EnvironmentReader) Read() (*pannier.Environment, []pannier.Problem) {
	if r.path == "" {
		return nil, nil
	}
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		r.good, r.seen = nil, readState{}
		return nil, []pannier.Problem{r.problem(pannier.SeverityWarning, "missing", "the environment file is not there",
			"run `pannier environment --to` it in the agent's container; it is found without a restart")}
	}
	look := r.now()
	if err == nil && r.good != nil && r.seen.holds(readStateOf(info, look)) {
		return r.good, nil
	}
	env, seen, problem := r.parse(look)
	if problem != nil {
		return r.good, []pannier.Problem{*problem}
	}
	r.good, r.seen = env, seen
	return env, nil
}

// parse returns what the file says, and its state after a scan of that time.
func (r *EnvironmentReader) parse(look time.Time) (*pannier.Environment, readState, *pannier.Problem) {
	text, info, err := readFile(r.path)
	if err != nil {
		refused := refusalOf(err)
		p := r.problem(pannier.SeverityError, refused.code, refused.message, refused.hint)
		return nil, readState{}, &p
	}
	var env pannier.Environment
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&env); err != nil {
		// The error may repeat a value, so it is not told.
		p := r.problem(pannier.SeverityError, "syntax", "this is not the JSON that `pannier environment` writes, or has fields that an environment has not", "write it anew with `pannier environment --to`")
		return nil, readState{}, &p
	}
	env, err = env.Normalized()
	if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
		p := r.problem(pannier.SeverityError, "names", refusal.Message, refusal.Hint)
		return nil, readState{}, &p
	}
	env.Source = pannier.EnvironmentFile
	if env.At.IsZero() {
		env.At = info.ModTime().UTC()
	}
	if env.At.After(look) { // a wrong clock in one container must not keep newer facts out for good
		env.At = look.UTC()
	}
	return &env, readStateOf(info, look), nil
}

func (r *EnvironmentReader) problem(severity pannier.Severity, code, message, hint string) pannier.Problem {
	return pannier.Problem{Code: "environment." + code, Severity: severity, Path: r.path, Message: message, Hint: hint}
}
