package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// lockOf returns a lock file that names each skill with its trust, such as "a verified".
func lockOf(entries ...string) string {
	var skills []string
	for _, e := range entries {
		path, trust, _ := strings.Cut(e, " ")
		skills = append(skills, `"`+path+`":{"slug":"`+filepath.Base(path)+`","trust":"`+trust+`","fingerprint":"sha256:00","source":"x","installed_at":"2026-01-02T03:04:05Z"}`)
	}
	return `{"version":1,"skills":{` + strings.Join(skills, ",") + `}}`
}

func trustRules(root string, kind pannier.SourceKind) pannier.DiscoveryRules {
	rules := rulesFor(root)
	rules.Roots[0].Kind, rules.Roots[0].Trust = kind, pannier.TrustInternal
	return rules
}

// trusts returns the trust of each skill, with a star where pannier has installed it.
func trusts(c pannier.Catalog) string {
	var all []string
	for _, s := range c.Skills {
		t := s.PathBelowRoot + "=" + string(s.TrustLevel)
		if s.Managed {
			t += "*"
		}
		all = append(all, t)
	}
	return strings.Join(all, " ")
}

func TestTrust(t *testing.T) {
	root := tree(t, "a", "g/b", "c")
	mkdir(t, filepath.Join(root, "t/tools"))
	write(t, filepath.Join(root, "t/tools/x.py"), "")
	own := filepath.Join(root, ".pannier")
	file := filepath.Join(own, "lock.json")
	l := loader.New(loader.Options{Rules: trustRules(root, pannier.SourceWorkspace)})
	const plain = "a=internal c=internal g/b=internal t=internal"
	const named = "a=community* c=internal g/b=verified* t=untrusted*"
	const doubted = "a=untrusted* c=internal g/b=untrusted* t=untrusted*"
	sums := map[string]map[pannier.Digest]bool{}
	check := func(step string, b pannier.Batch, want, code string) {
		t.Helper()
		c := load(t, l, b)
		if got := trusts(c); got != want {
			t.Errorf("%s: %s, want %s", step, got, want)
		}
		if got := strings.Join(codes(c.Problems), " "); got != code {
			t.Errorf("%s: problems %v", step, c.Problems)
		}
		for _, p := range c.Problems {
			if p.Path != "skills/.pannier/lock.json" || p.Hint == "" || p.Severity != pannier.SeverityError {
				t.Errorf("%s: told %v", step, p)
			}
		}
		for _, s := range c.Skills {
			of := fmt.Sprint(s.PathBelowRoot, " ", s.TrustLevel, " ", s.Managed)
			if sums[of] == nil {
				sums[of] = map[pannier.Digest]bool{}
			}
			sums[of][s.Sum] = true
		}
		if _, err := os.Stat(own); slices.Contains(c.Watch.Dirs, own) != (err == nil) {
			t.Errorf("%s: watched %q", step, c.Watch.Dirs)
		}
	}
	here := pannier.Batch{Dirs: []string{own}}
	check("no lock", pannier.Batch{Full: true}, plain, "")
	mkdir(t, own)
	write(t, file, lockOf("a community", "g/b verified", "gone internal", "t strange"))
	check("named", pannier.Batch{Dirs: []string{root}}, named, "")
	check("once more", pannier.Batch{Full: true}, named, "")
	write(t, file, `{"version":1,`)
	check("torn", here, doubted, "lock.syntax")
	write(t, file, `{"version":2,"skills":{}}`)
	check("another version", here, doubted, "lock.syntax")
	write(t, file, `[]`)
	check("a list", here, doubted, "lock.syntax")
	write(t, file, lockOf("a verified"))
	check("mended", here, "a=verified* c=internal g/b=internal t=internal", "")
	write(t, file, strings.Repeat(" ", 4<<20+1))
	check("too long", here, "a=untrusted* c=internal g/b=internal t=internal", "lock.unreadable")
	write(t, file, lockOf("a community", "g/b verified", "t untrusted"))
	check("mended again", here, named, "")
	remove(t, file)
	if err := unix.Mkfifo(file, 0o644); err != nil {
		t.Fatal(err)
	}
	check("a FIFO", here, doubted, "lock.unreadable")
	remove(t, file)
	link(t, "/etc/hostname", file)
	check("a link out", here, doubted, "lock.unreadable")
	remove(t, file)
	write(t, filepath.Join(root, "lock"), lockOf("c untrusted"))
	link(t, "../lock", file)
	check("a link within", here, "a=internal c=untrusted* g/b=internal t=internal", "")
	remove(t, own)
	check("removed", pannier.Batch{Dirs: []string{root}}, plain, "")
	mkdir(t, own)
	write(t, file, "{")
	check("torn from the beginning", pannier.Batch{Dirs: []string{root, own}}, "a=untrusted c=untrusted g/b=untrusted t=untrusted", "lock.syntax")
	write(t, file, lockOf("a community", "g/b verified", "t strange"))
	check("mended at last", here, named, "")
	for of, seen := range sums {
		if len(seen) != 1 {
			t.Errorf("%s has %d sums", of, len(seen))
		}
	}
}

// TestTrustAfterRestart meets a lock file that cannot be read and that no loader has read before.
func TestTrustAfterRestart(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, file string){
		"torn":            func(t *testing.T, file string) { write(t, file, `{"version":1,`) },
		"empty":           func(t *testing.T, file string) { write(t, file, "") },
		"null":            func(t *testing.T, file string) { write(t, file, "null") },
		"another version": func(t *testing.T, file string) { write(t, file, `{"version":2,"skills":{}}`) },
		"in capitals":     func(t *testing.T, file string) { write(t, file, `{"VERSION":1,"SKILLS":{}}`) },
		"a directory":     func(t *testing.T, file string) { mkdir(t, file) },
		"a link out":      func(t *testing.T, file string) { link(t, "/etc/hostname", file) },
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "a", "b", ".pannier")
			remove(t, filepath.Join(root, ".pannier/SKILL.md"))
			file := filepath.Join(root, ".pannier/lock.json")
			place(t, file)
			l := loader.New(loader.Options{Rules: trustRules(root, pannier.SourceWorkspace)})
			c := load(t, l, pannier.Batch{Full: true})
			if got := trusts(c); got != "a=untrusted b=untrusted" || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Message, "every skill of the root counts as untrusted") {
				t.Errorf("%s, problems %v", got, c.Problems)
			}
			remove(t, file)
			write(t, file, lockOf("b verified"))
			if got := trusts(load(t, l, pannier.Batch{Full: true})); got != "a=internal b=verified*" {
				t.Errorf("mended: %s", got)
			}
			write(t, file, "{")
			c = load(t, l, pannier.Batch{Full: true})
			if got := trusts(c); got != "a=internal b=untrusted*" || !strings.Contains(c.Problems[0].Message, "named when it was last read") {
				t.Errorf("torn again: %s, problems %v", got, c.Problems)
			}
		})
	}
}

// TestKeysOfLock reads keys of every form.
func TestKeysOfLock(t *testing.T) {
	root := tree(t, "a", "g/b", "c", ".pannier")
	remove(t, filepath.Join(root, ".pannier/SKILL.md"))
	file := filepath.Join(root, ".pannier/lock.json")
	write(t, file, lockOf("./a/ verified", "a community", "g//x/../b community", "../c verified", root+"/c verified", " verified", "C verified"))
	c := load(t, loader.New(loader.Options{Rules: trustRules(root, pannier.SourceWorkspace)}), pannier.Batch{Full: true})
	if got := trusts(c); got != "a=community* c=internal g/b=community*" {
		t.Errorf("trust %s", got)
	}
	if len(c.Problems) != 1 {
		t.Fatalf("problems %v", c.Problems)
	}
	if p := c.Problems[0]; p.Code != "lock.path" || p.Severity != pannier.SeverityWarning || !strings.Contains(p.Message, `3 keys are no paths below the root`) || !strings.Contains(p.Message, `"../c"`) || p.Hint == "" {
		t.Errorf("problem %v with hint %q", p, p.Hint)
	}
	write(t, file, `{"version":1,"skills":{"a":{"TRUST":"verified"},"c":null}}`)
	if got := trusts(full(t, root)); got != "a=untrusted* c=untrusted* g/b=" {
		t.Errorf("entries without trust: %s", got)
	}
}

func TestTrustOfManagedRoot(t *testing.T) {
	root := tree(t, "a", "b", ".pannier")
	remove(t, filepath.Join(root, ".pannier/SKILL.md"))
	file := filepath.Join(root, ".pannier/lock.json")
	write(t, file, "{")
	l := loader.New(loader.Options{Rules: trustRules(root, pannier.SourceManaged)})
	if got := trusts(load(t, l, pannier.Batch{Full: true})); got != "a=untrusted b=untrusted" {
		t.Errorf("with an unreadable lock: %s", got)
	}
	write(t, file, lockOf("b verified"))
	if got := trusts(load(t, l, pannier.Batch{Full: true})); got != "a=internal b=verified*" {
		t.Errorf("with a sound lock: %s", got)
	}
}

// TestTrustOfWhatIsHeld changes the lock while a skill stays as it last was.
func TestTrustOfWhatIsHeld(t *testing.T) {
	root := tree(t, "a", ".pannier")
	remove(t, filepath.Join(root, ".pannier/SKILL.md"))
	file := filepath.Join(root, ".pannier/lock.json")
	write(t, file, lockOf("a verified"))
	l := loader.New(loader.Options{Rules: trustRules(root, pannier.SourceWorkspace)})
	first := only(t, load(t, l, pannier.Batch{Full: true}))
	writeSkill(t, root, "a", broken)
	held := only(t, load(t, l, pannier.Batch{Full: true}))
	write(t, file, lockOf("a community"))
	lower := only(t, load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(file)}}))
	if first.TrustLevel != pannier.TrustVerified || !held.LastGood || held.TrustLevel != pannier.TrustVerified || !lower.LastGood || lower.TrustLevel != pannier.TrustCommunity || lower.Sum == held.Sum {
		t.Errorf("%s, held %s, then %s", first.TrustLevel, held.TrustLevel, lower.TrustLevel)
	}
	writeSkill(t, root, "a", good("mended"))
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.LastGood || s.TrustLevel != pannier.TrustCommunity {
		t.Errorf("mended: %s", s.TrustLevel)
	}
}

// TestLockIsReadOnlyWhenItMoved asks for everything twice, once the stats prove something.
func TestLockIsReadOnlyWhenItMoved(t *testing.T) {
	root := tree(t, "a", ".pannier")
	remove(t, filepath.Join(root, ".pannier/SKILL.md"))
	write(t, filepath.Join(root, ".pannier/lock.json"), lockOf("a verified"))
	l := loader.New(loader.Options{Rules: trustRules(root, pannier.SourceWorkspace)})
	l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	load(t, l, pannier.Batch{Full: true})
	l.OnOpen(func(rel string) { t.Errorf("opened %s", rel) })
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.TrustLevel != pannier.TrustVerified {
		t.Errorf("trust %s", s.TrustLevel)
	}
}

// TestEntryOfAnotherSkill checks when an entry of the lock file vouches for the skill at its path, and what trust it gives.
func TestEntryOfAnotherSkill(t *testing.T) {
	const print = `"fingerprint":"sha256:1111111111111111111111111111111111111111111111111111111111111111"`
	text := good("it")
	digest := pannier.DigestOf([]byte(text)).String()
	for _, tt := range []struct {
		name, entry string
		want        string
	}{
		{"as installed", `"slug":"a",` + print + `,"digest":"` + digest + `"`, "verified locked"},
		{"without a digest", `"slug":"a",` + print, "untrusted"},
		{"without a fingerprint", `"slug":"a","digest":"` + digest + `"`, "verified"},
		{"a fingerprint that is none", `"slug":"a","fingerprint":"yes","digest":"` + digest + `"`, "verified"},
		{"another text", `"slug":"a",` + print + `,"digest":"sha256:2222222222222222222222222222222222222222222222222222222222222222"`, "untrusted"},
		{"another slug", `"slug":"b",` + print, "untrusted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, "a", ".pannier")
			remove(t, filepath.Join(root, ".pannier/SKILL.md"))
			writeSkill(t, root, "a", text)
			write(t, filepath.Join(root, ".pannier/lock.json"), `{"version":1,"skills":{"a":{"trust":"verified",`+tt.entry+`}}}`)
			rules := trustRules(root, pannier.SourceManaged)
			rules.Roots[0].Trust = pannier.TrustUntrusted
			s := only(t, load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true}))
			got := string(s.TrustLevel)
			if s.Locked {
				got += " locked"
			}
			if got != tt.want || !s.Managed {
				t.Errorf("got %s, managed %t, want %s", got, s.Managed, tt.want)
			}
		})
	}
}
