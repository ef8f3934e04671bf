package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pannier"
	"pannier/loader"
)

// BenchmarkLinksIntoATarget looks at one directory of a root with a thousand links into a target, each of which may lead elsewhere
// by now, so that each is followed. Paths are about as long as they are in the field.
func BenchmarkLinksIntoATarget(b *testing.B) {
	for _, how := range []string{"relative", "absolute"} {
		b.Run(how, func(b *testing.B) {
			base := filepath.Join(b.TempDir(), "agents", "one")
			root, store := filepath.Join(base, "skills"), filepath.Join(base, "shared", "store")
			to := map[string]string{"relative": "../shared/store", "absolute": store}[how]
			writeSkill(b, root, "own", "---\nname: own\ndescription: d\n---\nbody\n")
			for i := range 1000 {
				name := fmt.Sprintf("skill-%d", i)
				writeSkill(b, store, name, "---\nname: x\ndescription: what it does\n---\nbody\n")
				if err := os.Symlink(to+"/"+name, filepath.Join(root, name)); err != nil {
					b.Fatal(err)
				}
			}
			rules := rulesFor(root)
			rules.Roots[0].LinkTargets = []string{filepath.Join(base, "other"), filepath.Join(base, "shared")}
			l := loader.New(loader.Options{Rules: rules})
			l.SetClock(func() time.Time { return time.Now().Add(time.Minute) }) // when stats prove that nothing is to be read
			if c := load(b, l, pannier.Batch{Full: true}); len(c.Skills) != 1001 {
				b.Fatal(len(c.Skills))
			}
			for b.Loop() {
				load(b, l, pannier.Batch{Dirs: []string{root + "/own"}})
			}
		})
	}
}
