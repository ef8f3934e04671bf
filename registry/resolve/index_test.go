package resolve_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

// TestResolverGivesWhatRulesDo asks one resolver about many turns of several snapshots at once.
func TestResolverGivesWhatRulesDo(t *testing.T) {
	globs := []string{"src/**", "**/*.go", "*.md", "docs/{a,b}/*", "[", "src/a.go", "**", "{x,y}/**/*.rs", "a*/b", "/abs/**", ""}
	paths := []string{"src/a.go", "README.md", "docs/a/x", "x/y/z.rs", "/abs/f", "ab/b", "src", "other.txt"}
	random := rand.New(rand.NewPCG(3, 4))
	some := func(list []string) (chosen []string) {
		for range random.IntN(4) {
			chosen = append(chosen, list[random.IntN(len(list))])
		}
		return chosen
	}
	var snapshots []*pannier.Snapshot
	for range 3 {
		s := &pannier.Snapshot{}
		for i := range 60 {
			s.Entries = append(s.Entries, entry(fmt.Sprintf("s%02d", i), func(e *pannier.Entry) {
				e.Paths, e.Policy.AllowImplicit = some(globs), random.IntN(4) > 0
				if random.IntN(4) == 0 {
					e.Runtimes = []string{"codex"}
				}
			}))
		}
		snapshots = append(snapshots, s)
	}
	resolver := &resolve.Resolver{Rules: resolve.Rules{Profile: pannier.ProfileFullAuto}}
	var asking sync.WaitGroup
	for n := range 300 {
		turn := pannier.Turn{Paths: some(paths), Verbose: n%5 == 0, NamedOnly: n%7 == 0, Text: fmt.Sprintf("$s%02d", n%60), Runtime: []string{"", "codex", "else"}[n%3]}
		asking.Go(func() {
			s := snapshots[n%len(snapshots)]
			if got, want := resolver.Resolve(s, turn), resolver.Rules.Resolve(s, turn); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v:\n%+v\n%+v", turn, got, want)
			}
		})
	}
	asking.Wait()
}
