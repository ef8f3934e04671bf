package scan_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/internal/testbench/realskills"
	"pannier/loader/scan"
)

func TestPatternsCompile(t *testing.T) {
	if n := scan.CompileAll(); n < 100 {
		t.Errorf("%d patterns", n)
	}
}

// TestVersion compares the sources with the version of the rules. Where they differ, raise [scan.Version] and write the file
// again with -update: verdicts of the older rules are then scanned again.
func TestVersion(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, name := range append(sources, "installers.txt") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(source), source)
	}
	const golden = "testdata/version.golden"
	want := fmt.Sprintf("%d %x\n", scan.Version, sum.Sum(nil))
	kept, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if version, _, _ := strings.Cut(string(kept), " "); version == fmt.Sprint(scan.Version) && string(kept) != want {
		t.Fatalf("the sources changed and version %s did not: raise scan.Version, then run with -update", version)
	}
	realskills.CheckGolden(t, golden, want)
}
