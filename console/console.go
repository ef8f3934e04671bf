// Package console holds the page that shows what a sidecar knows, and serves it. The page is built from src by build.mjs; dist is
// what is embedded.
package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pannier"
)

//go:embed dist
var dist embed.FS

// Path is where the page is served. The API is at the same origin.
const Path = "/console/"

// embedPath is where the parts are that other pages show in a frame.
const embedPath = Path + "embed/"

// embeds are the names of these parts.
var embeds = []string{"drop", "skills"}

// How a page gets its token.
const (
	// ModeCommand exchanges the code of the link that `pannier console` prints.
	ModeCommand = "command"
	// ModeToken asks for an API token.
	ModeToken = "token"
)

// Options say how the page is served.
type Options struct {
	Mode string // one of [ModeCommand] and [ModeToken]
	// EmbedOrigins are the origins whose pages may show the parts; without any there are none.
	EmbedOrigins []string
}

// configuration is what the page reads before it has a token.
type configuration struct {
	Mode         string   `json:"mode"`
	EmbedOrigins []string `json:"embed_origins"`
}

// Handler returns what serves the page at [Path]. It needs no login: it holds nothing of a workspace. Neither Host nor Origin are
// checked here.
func Handler(o Options) http.Handler {
	config, err := json.Marshal(configuration{o.Mode, append([]string{}, o.EmbedOrigins...)})
	if err != nil {
		panic(err) // two fields of texts
	}
	return &handler{files: assets(), config: config, origins: o.EmbedOrigins}
}

type handler struct {
	files   map[string]*asset
	config  []byte
	origins []string
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	Protect(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, r.Method+" is not a method of the page", http.StatusMethodNotAllowed)
		return
	}
	// A code or a token belongs into the fragment or the header: logs and histories keep queries.
	if r.URL.RawQuery != "" {
		http.Error(w, "the page has no parameters", http.StatusBadRequest)
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, Path)
	switch {
	case r.URL.Path == "/" || r.URL.Path+"/" == Path:
		http.Redirect(w, r, Path, http.StatusFound)
		return
	case !ok:
	case name == "config.json":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		write(w, r, h.config)
		return
	case name == "":
		name = "index.html"
	case len(h.origins) > 0 && slices.Contains(embeds, strings.TrimPrefix(r.URL.Path, embedPath)):
		w.Header().Set("Content-Security-Policy", policy(h.origins))
		w.Header().Del("X-Frame-Options")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // a frame of a page that isolates itself needs it
		name = "index.html"
	}
	if file, known := h.files[name]; ok && known {
		file.serve(w, r)
		return
	}
	http.Error(w, "there is nothing at "+strconv.Quote(r.URL.Path), http.StatusNotFound)
}

// Protect sets the headers that every answer of a server with the page has: nothing but the page itself runs in it, no other page
// frames or reads it, and no address of it is passed on.
func Protect(header http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy(nil),
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY", // for browsers that do not know frame-ancestors
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	} {
		header.Set(name, value)
	}
}

// policy returns the Content-Security-Policy of a page that these origins may frame.
func policy(ancestors []string) string {
	frames := "'none'"
	if len(ancestors) > 0 {
		frames = strings.Join(ancestors, " ")
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-src 'none'; frame-ancestors " + frames
}

// asset is a file of the page.
type asset struct {
	text, packed []byte // packed is nil where it is not shorter
	contentType  string
	tag          string
}

// assets returns the files of the page by name. They are packed once, at the first use.
var assets = sync.OnceValue(func() map[string]*asset {
	all := map[string]*asset{}
	err := fs.WalkDir(dist, "dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := dist.ReadFile(name)
		if err == nil {
			all[strings.TrimPrefix(name, "dist/")] = newAsset(path.Ext(name), text)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	return all
})

// mediaTypes are those of the files of the page. What the machine says of them does not matter.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json",
}

func newAsset(extension string, text []byte) *asset {
	a := &asset{text: text, contentType: cmp.Or(mediaTypes[extension], "application/octet-stream"), tag: `"` + pannier.DigestOf(text).String() + `"`}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	if _, err := z.Write(text); err == nil && z.Close() == nil && packed.Len() < len(text) {
		a.packed = packed.Bytes()
	}
	return a
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	text, tag := a.text, a.tag
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	if a.packed != nil && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		text, tag = a.packed, strings.TrimSuffix(tag, `"`)+`-gzip"`
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Cache-Control", "no-cache") // the names stay the same from version to version
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", tag)
	if slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), tag) {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, r, text)
}

// acceptsGzip reports whether Accept-Encoding names gzip, and not with a weight of 0 (RFC 9110, 12.5.3).
func acceptsGzip(values []string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}

func write(w http.ResponseWriter, r *http.Request, text []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // a client that has gone needs nothing
	}
}

// IsPath reports whether a path is one of the page.
func IsPath(urlPath string) bool { return strings.HasPrefix(urlPath+"/", Path) }
