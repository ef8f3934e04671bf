package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// moleculeFiles answers as the files API of Molecule's platform does, with its faults.
type moleculeFiles struct {
	// nested puts what is written below configs/, removes has files removed after all, admin lets the token export.
	nested, removes, admin bool
	// tenant is the header that a hosted platform wants; empty is none.
	tenant string

	mu    sync.Mutex
	files map[string]string
	asked []string
}

func newMoleculeFiles(t *testing.T, m *moleculeFiles) string {
	t.Helper()
	if m.files == nil {
		m.files = map[string]string{}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /workspaces/{id}/files", m.list)
	mux.HandleFunc("GET /workspaces/{id}/files/{path...}", m.get)
	mux.HandleFunc("PUT /workspaces/{id}/files", m.put)
	mux.HandleFunc("DELETE /workspaces/{id}/files/{path...}", m.remove)
	mux.HandleFunc("GET /bundles/export/{id}", m.export)
	s := httptest.NewServer(m.guard(mux))
	t.Cleanup(s.Close)
	return s.URL
}

func (m *moleculeFiles) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, r.Method+" "+r.URL.Path)
		switch {
		case m.tenant != "" && r.Header.Get("X-Molecule-Org-Id") != m.tenant:
			problemJSON(w, http.StatusNotFound, "not found")
		case r.Header.Get("Authorization") != "Bearer "+testToken:
			problemJSON(w, http.StatusUnauthorized, "invalid workspace auth token "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func problemJSON(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}

func (m *moleculeFiles) get(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	_ = json.NewEncoder(w).Encode(map[string]any{"path": name, "content": strings.TrimSpace(m.files[name]), "size": len(m.files[name])})
}

func (m *moleculeFiles) put(w http.ResponseWriter, r *http.Request) {
	var body struct{ Files map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Files) > 200 {
		problemJSON(w, http.StatusBadRequest, "invalid request body")
		return
	}
	for name, text := range body.Files {
		if strings.Contains(name, "..") || strings.HasPrefix(name, "/") {
			problemJSON(w, http.StatusBadRequest, "path not permitted")
			return
		}
		if m.nested {
			name = path.Join("configs", name)
		}
		m.files[name] = text
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"files": len(body.Files), "source": "container", "status": "replaced", "workspace": r.PathValue("id")})
}

func (m *moleculeFiles) remove(w http.ResponseWriter, r *http.Request) {
	if !m.removes {
		problemJSON(w, http.StatusBadRequest, "absolute paths not permitted")
		return
	}
	delete(m.files, r.PathValue("path"))
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "deleted"})
}

func (m *moleculeFiles) list(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		Path string `json:"path"`
		Size int    `json:"size"`
		Dir  bool   `json:"dir"`
	}
	depth, err := strconv.Atoi(r.FormValue("depth"))
	if err != nil || depth < 1 || depth > 5 || r.FormValue("root") != "/configs" {
		problemJSON(w, http.StatusBadRequest, "bad depth or root")
		return
	}
	seen := map[string]entry{}
	for name, text := range m.files {
		rel, ok := strings.CutPrefix(name, strings.TrimPrefix(r.FormValue("path")+"/", "/"))
		if !ok {
			continue
		}
		parts := strings.Split(rel, "/")
		for n := 1; n <= min(depth, len(parts)); n++ {
			at := strings.Join(parts[:n], "/")
			seen[at] = entry{Path: at, Dir: n < len(parts)}
			if n == len(parts) {
				seen[at] = entry{Path: at, Size: len(text)}
			}
		}
	}
	_ = json.NewEncoder(w).Encode(slices.Collect(maps.Values(seen)))
}

func (m *moleculeFiles) export(w http.ResponseWriter, r *http.Request) {
	if !m.admin {
		problemJSON(w, http.StatusUnauthorized, "admin only")
		return
	}
	skills := map[string]map[string]string{}
	for name, text := range m.files {
		if parts := strings.SplitN(name, "/", 3); len(parts) == 3 && parts[0] == "skills" {
			if skills[parts[1]] == nil {
				skills[parts[1]] = map[string]string{}
			}
			skills[parts[1]][parts[2]] = strings.TrimSpace(text)
		}
	}
	var list []map[string]any
	for name, files := range skills {
		list = append(list, map[string]any{"id": name, "name": name, "files": files})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"schema": "1.0", "id": r.PathValue("id"), "skills": list})
}

func (m *moleculeFiles) at(name string) string { return m.now()[name] }

// now returns the files that there are.
func (m *moleculeFiles) now() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files)
}

// requests returns the requests that came.
func (m *moleculeFiles) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}
