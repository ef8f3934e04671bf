package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pannier"
	"pannier/service"
)

// fileOf is an open file of a test. changed makes it another one after that many bytes.
type fileOf struct {
	text    string
	changed int
	closed  *int
}

func (f fileOf) Digest() pannier.Digest { return pannier.DigestOf([]byte(f.text)) }
func (f fileOf) Size() int64            { return int64(len(f.text)) }
func (f fileOf) Path() string           { return "" }
func (f fileOf) Close() error           { *f.closed++; return nil }

func (f fileOf) WriteTo(w io.Writer) (int64, error) {
	if f.changed < 0 {
		n, err := io.WriteString(w, f.text)
		return int64(n), err
	}
	if f.changed == 0 {
		return 0, pannier.ErrChanged
	}
	n, _ := io.WriteString(w, f.text[:f.changed])
	return int64(n), pannier.ErrChanged
}

// filed is a house whose skills have one file each, refs/a.html.
type filed struct {
	*house
	read           []pannier.SkillFileRead
	opened, closed int
}

func newFiled() *filed {
	f := &filed{house: newHouse()}
	f.content.Emit = func(kind pannier.EventType, data any) {
		if kind == pannier.EventSkillFileRead {
			f.read = append(f.read, data.(pannier.SkillFileRead))
		}
	}
	f.content.OpenFile = func(_ context.Context, _ *pannier.Skill, path string) (service.File, error) {
		if path != "refs/a.html" {
			return nil, &pannier.FileError{Fault: pannier.FileMissing, Path: path}
		}
		f.opened++
		return fileOf{text: "<script>\r\n\xff", changed: -1, closed: &f.closed}, nil
	}
	return f
}

const fileTarget = "/v1/skills/acme%2Falpha/files/refs/a.html"

func TestFile(t *testing.T) {
	f := newFiled()
	h := f.handler()
	digest := pannier.DigestOf([]byte("<script>\r\n\xff"))
	get := ask(h, "GET", fileTarget, "")
	if get.Code != http.StatusOK || !bytes.Equal(get.Body.Bytes(), []byte("<script>\r\n\xff")) {
		t.Errorf("%d %q", get.Code, get.Body)
	}
	header := get.Header()
	if header.Get("Content-Type") != textType || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("ETag") != `"`+digest.String()+`"` || header.Get("Content-Length") != "11" {
		t.Errorf("header %v", header)
	}
	checkHead(t, h, fileTarget, "", get)
	if head := ask(h, "HEAD", fileTarget, ""); head.Body.Len() > 0 {
		t.Errorf("HEAD has a body: %q", head.Body)
	}
	again := ask(h, "GET", fileTarget, "", "If-None-Match", header.Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("the caller has it: %d %q", again.Code, again.Body)
	}
	if len(f.read) != 2 || f.read[0] != (pannier.SkillFileRead{Slug: "alpha", Path: "refs/a.html", Digest: digest}) {
		t.Errorf("events %+v", f.read)
	}
	if f.opened != f.closed {
		t.Errorf("%d opened, %d closed", f.opened, f.closed)
	}
}

func TestFileRefusals(t *testing.T) {
	for _, tt := range []struct {
		target string
		err    error
		status int
		code   string
	}{
		{"/v1/skills/none/files/a", nil, 404, "skill_not_found"},
		{"/v1/skills/beta/files/a", nil, 409, "skill_ineligible"},
		{"/v1/skills/delta/files/a", nil, 409, "skill_unlisted"},
		{"/v1/skills/alpha/files/none", nil, 404, "file_not_found"},
		{"/v1/skills/gamma/files/SKILL.md", pannier.ErrNotServable, 409, "skill_held"},
		{"/v1/skills/alpha/files/a", pannier.ErrChanged, 503, "changing"},
		{"/v1/skills/alpha/files/a", errors.New("input/output error"), 500, "internal"},
		{"/v1/skills/alpha/files/", &pannier.FileError{Fault: pannier.FileIsDirectory}, 404, "file_is_directory"},
		{"/v1/skills/alpha/files", nil, 404, "file_is_directory"},
		{"/v1/skills/alpha/files/.git/config", &pannier.FileError{Fault: pannier.FileSkipped}, 404, "file_skipped"},
		{"/v1/skills/alpha/files/%2e%2e/beta/SKILL.md", &pannier.FileError{Fault: pannier.FileOutside}, 403, "file_outside"},
		{"/v1/skills/alpha/files/a", &pannier.FileError{Fault: pannier.FileSpecial}, 403, "file_not_regular"},
		{"/v1/skills/alpha/files/a", &pannier.FileError{Fault: pannier.FileTooLarge}, 403, "file_too_large"},
		{"/v1/skills/alpha/files/a", &pannier.FileError{Fault: pannier.FileUnreadable}, 403, "file_unreadable"},
		{"/v1/skills/alpha/files/../content", nil, 403, "file_outside"},
		{"/v1/skills/alpha/files/a/./b", nil, 403, "file_outside"},
		{"/v1/skills/alpha/files//etc/passwd", nil, 403, "file_outside"},
		{"/v1/skills/alpha/files/a?expand=1", nil, 400, "unknown_parameter"},
	} {
		f := newFiled()
		if tt.err != nil {
			f.content.OpenFile = func(context.Context, *pannier.Skill, string) (service.File, error) { return nil, tt.err }
		}
		checkProblem(t, tt.target, ask(f.handler(), "GET", tt.target, ""), tt.status, tt.code)
		if len(f.read) > 0 {
			t.Errorf("%s: events %+v", tt.target, f.read)
		}
	}
}

// TestFileThatChanges is not served as what it was: before the first byte that is an error, after it the answer is short.
func TestFileThatChanges(t *testing.T) {
	f := newFiled()
	changed := 0
	f.content.OpenFile = func(context.Context, *pannier.Skill, string) (service.File, error) {
		return fileOf{text: "a text", changed: changed, closed: &f.closed}, nil
	}
	w := ask(f.handler(), "GET", "/v1/skills/alpha/files/a", "")
	checkProblem(t, "at once", w, 503, "changing")
	if w.Header().Get("ETag")+w.Header().Get("Content-Length") != "" || len(f.read) > 0 {
		t.Errorf("header %v, events %v", w.Header(), f.read)
	}
	changed = 3
	w = ask(f.handler(), "GET", "/v1/skills/alpha/files/a", "")
	if w.Body.String() != "a t" || w.Header().Get("Content-Length") != "6" || len(f.read) != 1 {
		t.Errorf("%q, %v, events %v", w.Body, w.Header(), f.read)
	}
}

func TestFileTypes(t *testing.T) {
	f := newFiled()
	f.content.OpenFile = func(context.Context, *pannier.Skill, string) (service.File, error) {
		return fileOf{text: "x", changed: -1, closed: &f.closed}, nil
	}
	for want, names := range map[string]string{
		textType:                   "SKILL.md a.html b.SVG run.sh LICENSE x/Makefile d.json e.xml .gitignore",
		"application/octet-stream": "a.png b.pdf c.docx d.wasm none e.html.gz f.swf",
	} {
		for name := range strings.FieldsSeq(names) {
			if got := ask(f.handler(), "GET", "/v1/skills/alpha/files/"+name, "").Header().Get("Content-Type"); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

func TestContentExpanded(t *testing.T) {
	h := newHouse()
	named := documents()
	named.read = func(*pannier.Skill) (pannier.Document, error) {
		return pannier.Document{Body: "run ${skill_dir}/a and {baseDir}/b, not $skill_dir"}, nil
	}
	h.content.Texts = named
	for target, want := range map[string]string{
		"":          "run ${skill_dir}/a and {baseDir}/b, not $skill_dir",
		"?expand=0": "run ${skill_dir}/a and {baseDir}/b, not $skill_dir",
		"?expand=1": "run /configs/skills/alpha/a and /configs/skills/alpha/b, not $skill_dir",
	} {
		if c := decode[pannier.Content](t, ask(h.handler(), "GET", "/v1/skills/alpha/content"+target, "")); c.Body != want {
			t.Errorf("%q: %q", target, c.Body)
		}
		if w := ask(h.handler(), "GET", "/v1/skills/alpha/content"+target, "", "Accept", "text/markdown"); w.Body.String() != want {
			t.Errorf("%q as markdown: %q", target, w.Body)
		}
	}
	checkProblem(t, "expand", ask(h.handler(), "GET", "/v1/skills/alpha/content?expand=yes!", ""), 400, "invalid_parameter.expand")
}
