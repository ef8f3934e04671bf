package rpc_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/rpc"
	decides "pannier/service"
)

var (
	methodInTable = regexp.MustCompile("`(skills/[a-z/]+)`")
	codeInTable   = regexp.MustCompile("`((?:rpc|skills)\\.[a-z._]+)`")
	codeInSource  = regexp.MustCompile(`"(rpc\.[a-z_]+)"`)
)

// rows returns the cells of the tables of docs/RPC.md.
func rows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/RPC.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && cells[0] == "" {
			rows = append(rows, cells[1:4])
		}
	}
	return rows
}

// uploads takes nothing in.
type uploads struct{ decides.Uploads }

func (uploads) Limits() pannier.UploadLimits { return pannier.UploadLimits{} }

// TestRPCTables of docs/RPC.md tell of each method and of each code with its number, and of no other.
func TestRPCTables(t *testing.T) {
	methods, codes := map[string]bool{}, map[string]bool{}
	for _, cells := range rows(t) {
		for _, m := range methodInTable.FindAllStringSubmatch(cells[0], -1) {
			methods[m[1]] = true
		}
		for _, m := range codeInTable.FindAllStringSubmatch(cells[1], -1) {
			codes[strings.TrimSpace(cells[0])+" "+m[1]] = true
		}
	}
	server := rpc.NewSkills(rpc.Skills{Service: decides.New(decides.Options{
		Installer: struct{ decides.Installer }{}, Changes: struct{ decides.Changes }{}, Tools: struct{ decides.Tools }{}, Uploads: uploads{},
	})})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(methods)), slices.Sorted(maps.Keys(server.Methods))); diff != "" {
		t.Errorf("-docs/RPC.md +methods:\n%s", diff)
	}
	told := slices.DeleteFunc(slices.Sorted(maps.Keys(codes)), func(code string) bool { return strings.Contains(code, " rpc.") })
	if diff := cmp.Diff(told, rpc.RefusalCodes()); diff != "" {
		t.Errorf("-docs/RPC.md +codes:\n%s", diff)
	}
	for code := range frameCodes(t) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(codes)), func(told string) bool { return strings.HasSuffix(told, " "+code) }) {
			t.Errorf("docs/RPC.md does not tell of %s", code)
		}
	}
}

// frameCodes returns the codes of what is wrong with a call itself.
func frameCodes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeInSource.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]] = true
		}
	}
	if len(codes) < 5 {
		t.Errorf("found %v only", codes)
	}
	return codes
}
