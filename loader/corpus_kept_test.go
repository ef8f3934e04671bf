package loader_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

const readGolden = "testdata/read.golden"

var recordRead = flag.Bool("record-read", false, "record "+readGolden+" from this version of the code")

// TestCorpusKeepsWhatWasRead compares every published skill with what an earlier version read of it. Lines of the golden file
// are digests of a path and of what was read (slug, name, description, usable); `gained` and `changed` name the skills that are
// read differently on purpose. -update leaves the digests alone, so a loss always fails.
func TestCorpusKeepsWhatWasRead(t *testing.T) {
	rules := corpusRules(t)
	skills := load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true}).Skills
	if *recordRead {
		recordGolden(t, skills)
	}
	recorded, meant := readRecorded(t)
	var differences []string
	for _, s := range skills {
		was, known := recorded[shortDigest(s.PathBelowRoot)]
		switch now := digestOfRead(s); {
		case !known || was == now:
		case strings.HasPrefix(was, "-") && !s.Broken:
			differences = append(differences, "# gained "+s.PathBelowRoot)
		case s.Broken:
			t.Errorf("%s was read before and is not any more: %v", s.PathBelowRoot, s.Problems)
		default:
			differences = append(differences, "# changed "+s.PathBelowRoot)
		}
		delete(recorded, shortDigest(s.PathBelowRoot))
	}
	if len(recorded) > 0 {
		t.Errorf("%d skills that were found before are not found any more", len(recorded))
	}
	slices.Sort(differences)
	if !slices.Equal(differences, meant) {
		t.Errorf("read differently than before:\n%s\n%s says:\n%s", strings.Join(differences, "\n"), readGolden, strings.Join(meant, "\n"))
	}
}

// digestOfRead returns "-" for a skill that is not usable, or "+", and a digest of what was read of it.
func digestOfRead(s *pannier.Skill) string {
	sign := "+"
	if s.Broken {
		sign = "-"
	}
	return sign + shortDigest(s.Slug+"\x00"+s.Name+"\x00"+s.Description)
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:5])
}

func recordGolden(t *testing.T, skills []*pannier.Skill) {
	t.Helper()
	var lines []string
	for _, s := range skills {
		lines = append(lines, shortDigest(s.PathBelowRoot)+digestOfRead(s))
	}
	slices.Sort(lines)
	text := "# What this version read of the corpus: path, usable (+) or not (-), slug, name and description, as digests.\n" +
		strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(readGolden, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readRecorded returns what was recorded, by the digest of the path, and the differences that are meant.
func readRecorded(t *testing.T) (recorded map[string]string, differences []string) {
	t.Helper()
	text, err := os.ReadFile(readGolden)
	if err != nil {
		t.Fatal(err)
	}
	recorded = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# gained "), strings.HasPrefix(line, "# changed "):
			differences = append(differences, line)
		case !strings.HasPrefix(line, "#"):
			at := strings.IndexAny(line, "+-")
			if at < 0 {
				t.Fatalf("%s: %q", readGolden, line)
			}
			recorded[line[:at]] = line[at:]
		}
	}
	return recorded, differences
}
