package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"pannier"
)

// SkillFile is a file of a skill that is open for reading.
type SkillFile interface {
	Digest() pannier.Digest
	Size() int64
	// WriterTo writes the bytes with that digest, at least once. Where the file has changed meanwhile it fails with
	// [pannier.ErrChanged] before it has written the last of them.
	io.WriterTo
	io.Closer
}

// OpenFile opens a file below a skill directory. It fails with a [pannier.FileError] where there is none to serve, and
// else as [Texts.Read] does.
type OpenFile func(ctx context.Context, s *pannier.Skill, path string) (SkillFile, error)

// file answers with one file of a usable skill, byte for byte; for an inspection, of any skill. A HEAD and an inspection emit no
// event.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	var e *pannier.Entry
	var f SkillFile
	name, inspect := r.PathValue("path"), isSet(r, "inspect")
	if inspect { // an agent must not read with it what policy or a security scan keeps from it
		if err := h.requireScope(r, ScopeWrite); err != nil {
			return err
		}
	}
	err := h.fresh(r.Context(), s, func(s *pannier.Snapshot) (err error) {
		if e, err = find(s, r.PathValue("slug"), r.URL.Query().Get("skill_path")); err != nil {
			return err
		}
		skill := e.Skill
		switch {
		case inspect:
			skill = asOnDisk(skill)
		case !e.Usable:
			return unusable(e)
		}
		f, err = h.OpenFile(r.Context(), skill, name)
		return err
	})
	if err != nil {
		return fileRefused(e, err)
	}
	defer f.Close()
	onFirstByte := func() {
		if inspect {
			return
		}
		h.Emit(pannier.EventSkillFileRead, pannier.SkillFileRead{Slug: e.Slug, Path: name, Digest: f.Digest()})
	}
	return h.writeFile(w, r, f, fileType(name), onFirstByte)
}

// asOnDisk returns a skill whose SKILL.md is served as the disk has it, also where it cannot be parsed: a person who looks for
// the fault needs that text, not the last good one.
func asOnDisk(s *pannier.Skill) *pannier.Skill {
	disk := *s
	disk.Broken, disk.LastGood, disk.Digest = false, false, s.FileDigest
	return &disk
}

// writeFile answers with an open file. onFirstByte is called once, before the first byte is sent.
func (h *Handler) writeFile(w http.ResponseWriter, r *http.Request, f SkillFile, contentType string, onFirstByte func()) error {
	header, tag := w.Header(), `"`+f.Digest().String()+`"`
	header.Set("Content-Type", contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", tag)
	if r.Method == http.MethodHead {
		onFirstByte = func() {}
	}
	if matches(r.Header.Values("If-None-Match"), tag) {
		onFirstByte()
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Length", strconv.FormatInt(f.Size(), 10))
	if r.Method == http.MethodHead {
		return nil
	}
	out := &fileWriter{w: w, onFirstByte: onFirstByte}
	_, err := f.WriteTo(out)
	switch {
	case err == nil:
	case out.begun: // too late for another answer: it ends short of its length, and the connection with it
		h.Logger.Debug("a file was not served to its end", "path", r.URL.EscapedPath(), "error", err)
	default:
		header.Del("ETag")
		header.Del("Content-Length")
		if errors.Is(err, pannier.ErrChanged) {
			return errChanging
		}
		return err
	}
	return nil
}

type fileWriter struct {
	w           io.Writer
	onFirstByte func()
	begun       bool
}

func (f *fileWriter) Write(b []byte) (int, error) {
	if !f.begun {
		f.begun = true
		f.onFirstByte()
	}
	return f.w.Write(b)
}

func fileRefused(e *pannier.Entry, err error) error {
	if errors.Is(err, pannier.ErrNotServable) {
		return errHeldFor(e)
	}
	fault, ok := errors.AsType[*pannier.FileError](err)
	if !ok {
		return err
	}
	answer := &statusError{status: http.StatusForbidden, code: string(fault.Fault)}
	listed := "GET /v1/skills/" + e.Slug + " lists its files"
	switch fault.Fault {
	case pannier.FileMissing:
		answer.status, answer.detail, answer.hint = http.StatusNotFound, fmt.Sprintf("%s has no file %.200q", e.Slug, fault.Path), listed
	case pannier.FileIsDirectory:
		answer.status, answer.detail, answer.hint = http.StatusNotFound, fmt.Sprintf("%.200q of %s is a directory", fault.Path, e.Slug), "name a file in it; "+listed
	case pannier.FileSkipped:
		answer.status, answer.detail, answer.hint = http.StatusNotFound, fmt.Sprintf("%.200q is, or leads to, a dot file or a file in a skipped directory, so it is not a file of %s", fault.Path, e.Slug), "rename it without a dot, and keep it out of directories that the setting skip names; "+listed
	case pannier.FileOutside:
		answer.detail, answer.hint = fmt.Sprintf("%.200q leads out of the directory of %s", fault.Path, e.Slug), "name the file by its path below the skill directory; links must stay in it"
	case pannier.FileForeign:
		answer.detail, answer.hint = fmt.Sprintf("%.200q has several hard links, and another owner than the directory of %s", fault.Path, e.Slug), "replace the hard link by a copy, or give both the same owner"
	case pannier.FileSpecial:
		answer.detail, answer.hint = fmt.Sprintf("%.200q of %s is not a regular file", fault.Path, e.Slug), "only regular files are served"
	case pannier.FileTooLarge:
		answer.detail, answer.hint = fmt.Sprintf("%.200q of %s is larger than what is served", fault.Path, e.Slug), "read it from the directory that GET /v1/skills/"+e.Slug+"/content names"
	default:
		answer.detail, answer.hint = fmt.Sprintf("%.200q of %s cannot be read", fault.Path, e.Slug), "make it readable for the user that pannier runs as"
	}
	return answer
}

// checkFilePath refuses a way up, or an empty step, in the path of a file. The router would send the caller elsewhere for it, and
// what was meant as a file must not become another route.
func checkFilePath(r *http.Request) error {
	at := r.URL.EscapedPath()
	if all, _ := path.Match("/v1/skills/*/files", at); all {
		return &statusError{http.StatusNotFound, string(pannier.FileIsDirectory), "this is all of the files", "name one of them; GET /v1/skills/{slug} lists them"}
	}
	if !strings.HasPrefix(at, "/v1/skills/") || !strings.Contains(at, "/files/") || path.Clean(at) == strings.TrimSuffix(at, "/") {
		return nil
	}
	return &statusError{http.StatusForbidden, string(pannier.FileOutside), "the path is not a plain one", "name the file by its path below the skill directory, without `.`, `..` and empty steps"}
}

// textEndings are those of files that are text, whatever else a browser would make of them.
var textEndings = map[string]bool{
	".adoc": true, ".awk": true, ".bash": true, ".bat": true, ".c": true, ".cc": true, ".cfg": true, ".cjs": true, ".cmake": true,
	".cmd": true, ".conf": true, ".cpp": true, ".cs": true, ".css": true, ".csv": true, ".cts": true, ".dart": true, ".diff": true,
	".dtd": true, ".ejs": true, ".env": true, ".ex": true, ".exs": true, ".fish": true, ".gitignore": true, ".go": true, ".gql": true,
	".gradle": true, ".graphql": true, ".groovy": true, ".h": true, ".hbs": true, ".hcl": true, ".hpp": true, ".htm": true, ".html": true,
	".ini": true, ".ipynb": true, ".j2": true, ".java": true, ".jinja": true, ".jl": true, ".js": true, ".json": true, ".json5": true,
	".jsonc": true, ".jsonl": true, ".jsx": true, ".kt": true, ".kts": true, ".less": true, ".license": true, ".lock": true, ".log": true,
	".lua": true, ".m": true, ".markdown": true, ".md": true, ".mdx": true, ".mjs": true, ".mk": true, ".mod": true, ".mts": true,
	".nix": true, ".patch": true, ".php": true, ".pl": true, ".properties": true, ".proto": true, ".ps1": true, ".py": true, ".pyi": true,
	".r": true, ".rb": true, ".rs": true, ".rst": true, ".scala": true, ".scss": true, ".sh": true, ".sql": true, ".svelte": true,
	".svg": true, ".swift": true, ".tcl": true, ".tex": true, ".text": true, ".tf": true, ".tmpl": true, ".toml": true, ".ts": true,
	".tsv": true, ".tsx": true, ".txt": true, ".vue": true, ".xhtml": true, ".xml": true, ".xsd": true, ".xsl": true, ".yaml": true,
	".yml": true, ".zsh": true,
}

// textNames are files without an ending that are text.
var textNames = map[string]bool{"license": true, "licence": true, "copying": true, "notice": true, "readme": true, "changelog": true, "authors": true, "makefile": true, "dockerfile": true}

// fileType returns the type of a file by its name: text that nothing runs, or bytes. So no file of a skill is ever a page.
func fileType(name string) string {
	base := strings.ToLower(path.Base(name))
	if textEndings[path.Ext(base)] || textNames[base] {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
