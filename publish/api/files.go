package api

import (
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"pannier"
	"pannier/service"
)

// file answers with one file of a skill, byte for byte.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	by, err := h.reader(r)
	if err != nil {
		return err
	}
	var f *service.OpenedFile
	name := r.PathValue("path")
	err = h.Service.Fresh(r.Context(), s, func(s *pannier.Snapshot) error {
		e, err := service.Find(s, r.PathValue("slug"), r.URL.Query().Get("skill_path"))
		if err == nil {
			f, err = h.Service.OpenFile(r.Context(), e, name, by)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	return h.WriteFile(w, r, f, name, f.Record)
}

var inspectParameter = query(
	"inspect", "boolean",
	"Serves what is on disk, also of a skill that is not usable. Needs the scope write, emits no event.",
)

// reader returns who asks for content: one that inspects it must have the scope write.
func (h *Handler) reader(r *http.Request) (service.Reader, error) {
	if isSet(r, "inspect") {
		return service.Inspector, h.Service.Require(
			r.Context(), requestOf(r, r.Pattern+" to inspect"), service.ScopeWrite,
		)
	}
	return service.Agent, nil
}

// WriteFile answers with an open file, as text that nothing runs or as bytes. onFirstByte is called once, before the
// first byte is sent.
func (h *Handler) WriteFile(
	w http.ResponseWriter, r *http.Request, f service.File, name string, onFirstByte func(),
) error {
	header, tag := w.Header(), `"`+f.Digest().String()+`"`
	header.Set("Content-Type", fileType(name))
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
			return service.ErrChanging
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

// checkFilePath refuses a way up, or an empty step, in the path of a file. The router would send the caller elsewhere
// for it, and what was meant as a file must not become another route.
func checkFilePath(r *http.Request) error {
	at := r.URL.EscapedPath()
	if all, _ := path.Match("/v1/skills/*/files", at); all {
		return &statusError{
			http.StatusNotFound, string(pannier.FileIsDirectory), "this is all of the files",
			"name one of them: run `pannier show SLUG` to see them",
		}
	}
	if !strings.HasPrefix(at, "/v1/skills/") || !strings.Contains(at, "/files/") ||
		path.Clean(at) == strings.TrimSuffix(at, "/") {
		return nil
	}
	return &statusError{
		http.StatusForbidden, string(pannier.FileOutside), "the path is not a plain one",
		"name the file by its path below the skill directory, without `.`, `..` and empty steps",
	}
}

// textEndings are those of files that are text, whatever else a browser would make of them.
var textEndings = map[string]bool{
	".adoc": true, ".awk": true, ".bash": true, ".bat": true, ".c": true, ".cc": true, ".cfg": true,
	".cjs": true, ".cmake": true, ".cmd": true, ".conf": true, ".cpp": true, ".cs": true, ".css": true,
	".csv": true, ".cts": true, ".dart": true, ".diff": true, ".dtd": true, ".ejs": true, ".env": true,
	".ex": true, ".exs": true, ".fish": true, ".gitignore": true, ".go": true, ".gql": true, ".gradle": true,
	".graphql": true, ".groovy": true, ".h": true, ".hbs": true, ".hcl": true, ".hpp": true, ".htm": true,
	".html": true, ".ini": true, ".ipynb": true, ".j2": true, ".java": true, ".jinja": true, ".jl": true,
	".js": true, ".json": true, ".json5": true, ".jsonc": true, ".jsonl": true, ".jsx": true, ".kt": true,
	".kts": true, ".less": true, ".license": true, ".lock": true, ".log": true, ".lua": true, ".m": true,
	".markdown": true, ".md": true, ".mdx": true, ".mjs": true, ".mk": true, ".mod": true, ".mts": true,
	".nix": true, ".patch": true, ".php": true, ".pl": true, ".properties": true, ".proto": true, ".ps1": true,
	".py": true, ".pyi": true, ".r": true, ".rb": true, ".rs": true, ".rst": true, ".scala": true,
	".scss": true, ".sh": true, ".sql": true, ".svelte": true, ".svg": true, ".swift": true, ".tcl": true,
	".tex": true, ".text": true, ".tf": true, ".tmpl": true, ".toml": true, ".ts": true, ".tsv": true,
	".tsx": true, ".txt": true, ".vue": true, ".xhtml": true, ".xml": true, ".xsd": true, ".xsl": true,
	".yaml": true, ".yml": true, ".zsh": true,
}

// textNames are files without an ending that are text.
var textNames = map[string]bool{
	"license": true, "licence": true, "copying": true, "notice": true, "readme": true,
	"changelog": true, "authors": true, "makefile": true, "dockerfile": true,
}

// fileType returns the type of a file by its name: text that nothing runs, or bytes. So no file of a skill is ever a
// page.
func fileType(name string) string {
	base := strings.ToLower(path.Base(name))
	if textEndings[path.Ext(base)] || textNames[base] {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
