package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

func TestFaultFileIsReplacedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	n := often(200, 1000)
	runWriter(t, "replace", file, n, "5ms")
	s.serves(t, "one", number(n))
	for i := range 3 { // alone and at rest, where a watch on the file would have died with it
		s.write(t, fmt.Sprintf("sed 's/number .*/number %d/' skills/one/SKILL.md > t; mv t skills/one/SKILL.md", n+i+1))
		s.serves(t, "one", number(n+i+1))
	}
	s.heard(t)
}

func TestFaultFileIsReplacedWhileSomebodyReadsIt(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	reader := must(os.Open(file))(t)
	defer reader.Close()
	s.write(t, "sed 's/number ./number 1/' skills/one/SKILL.md > t; mv t skills/one/SKILL.md") // the one event is that of the directory
	s.serves(t, "one", number(1))
	s.heard(t)
}

func TestFaultHalfWrittenFileIsNeverServed(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	end := s.watching(t)
	for i := 1; i <= 3; i++ {
		runWriter(t, "halves", file, "300ms", i)
		s.serves(t, "one", number(i))
	}
	for _, list := range end() {
		if len(list.Skills) != 1 || !list.Skills[0].Usable || !strings.HasPrefix(list.Skills[0].Description, "number ") {
			t.Errorf("served %+v", list.Skills)
		}
	}
	s.heard(t)
}

func TestFaultRestoredTimes(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w)
	for i := 1; i <= 3; i++ {
		s.write(t, fmt.Sprintf("cp -p skills/one/SKILL.md t; sed -i 's/number ./number %d/' skills/one/SKILL.md; touch -r t skills/one/SKILL.md", i))
		s.serves(t, "one", number(i))
	}
	s.write(t, "sed 's/number ./number 4/' t > u; touch -r t u; cp -p u skills/one/SKILL.md")
	s.serves(t, "one", number(4))
	s.heard(t)
}

func TestFaultUnusualWaysToMakeAFile(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w, "--delete-grace", "1h") // the look at the end of a grace would find what no event told of
	s.write(t, "mkdir skills/.other; sed 's/number ./number 1/' skills/one/SKILL.md > skills/.other/SKILL.md")
	runWriter(t, "exchange", file, filepath.Join(w, "skills/.other/SKILL.md"))
	s.serves(t, "one", number(1))
	s.write(t, "mkdir skills/.third; sed 's/number ./number 2/' skills/one/SKILL.md > skills/.third/SKILL.md")
	runWriter(t, "exchange", filepath.Dir(file), filepath.Join(w, "skills/.third")) // directories
	s.serves(t, "one", number(2))
	s.write(t, "rm skills/one/SKILL.md")
	eventually(t, "the file is missed", func() error {
		if e, err := s.entry(t, "one"); err != nil || !e.Deleting {
			return fmt.Errorf("%+v, %v", e, err)
		}
		return nil
	})
	runWriter(t, "tmpfile", file, "500ms", 3)
	s.serves(t, "one", number(3))
	s.heard(t)
}

// TestFaultWhatTheKernelDoesNotTell changes a file in ways that make no event in its directory.
func TestFaultWhatTheKernelDoesNotTell(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, w, file string){
		"mapping": func(t *testing.T, _, file string) { runWriter(t, "mmap", file, "number 0", "number 1") },
		"hard link": func(t *testing.T, w, _ string) {
			writeIn(t, w, "printf '%s' '"+numbered("one", 1)+"' > elsewhere/name")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, file := oneSkill(t)
			writeIn(t, w, "mkdir elsewhere; ln skills/one/SKILL.md elsewhere/name")
			s := startFault(t, w, "--resync", "1s")
			change(t, w, file)
			s.serves(t, "one", number(1))
			s.found(t)
		})
	}
}

// TestFaultEditors does to a file what editors and tools do, and checks that its skill never goes.
func TestFaultEditors(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	end := s.watching(t)
	runWriter(t, "editor", file, "100ms", 1)
	s.serves(t, "one", number(1))
	runWriter(t, "editor", file, "700ms", 2)
	s.serves(t, "one", number(2))
	for i, script := range []string{
		"cp skills/one/SKILL.md t; mv skills/one/SKILL.md skills/one/SKILL.md~; sed 's/number ./number 3/' t > skills/one/SKILL.md; rm skills/one/SKILL.md~",
		"sed -i 's/number ./number 4/' skills/one/SKILL.md",
		"cp -a skills/one new; sed -i 's/number ./number 5/' new/SKILL.md; mv skills/one old; sleep 0.2; mv new skills/one; rm -r old",
		"mkdir -p tree/one; sed 's/number ./number 6/' skills/one/SKILL.md > tree/one/SKILL.md; tar cf t.tar -C tree one; rm -r skills/one; tar xf t.tar -C skills",
		"command -v vim > /dev/null || exec sed -i 's/number ./number 7/' skills/one/SKILL.md; vim -es -u NONE -c 'set backupcopy=no backup' -c '%s/number ./number 7/' -c wq skills/one/SKILL.md",
	} {
		s.write(t, script)
		s.serves(t, "one", number(i+3))
	}
	s.write(t, "cd skills; git init -q . && git add one && git -c user.name=n -c user.email=e commit -qm m && sed -i 's/number ./number 8/' one/SKILL.md && git -c user.name=n -c user.email=e stash -q")
	s.serves(t, "one", number(7))
	s.write(t, "cd skills; git stash pop -q")
	s.serves(t, "one", number(8))
	for _, list := range end() {
		if len(list.Skills) == 0 || list.Skills[0].Slug != "one" || !list.Skills[0].Usable {
			t.Errorf("snapshot %d: %+v", list.SnapshotVersion, list.Skills)
		}
	}
	s.heard(t)
}

// announcesChanges checks that each update of the catalog adds, changes or removes a skill, and that one removes a slug.
func (s *sidecarUnderTest) announcesChanges(t *testing.T, removed string) {
	t.Helper()
	found := false
	query := client.EventQuery{Types: []string{string(pannier.EventCatalogUpdated)}}
	err := s.Events(t.Context(), query, func(e pannier.Event) error {
		var update pannier.CatalogUpdated
		if err := json.Unmarshal(e.Data.(json.RawMessage), &update); err != nil {
			return err
		}
		found = found || slices.Contains(update.Removed, removed)
		if len(update.Added)+len(update.Changed)+len(update.Removed) == 0 {
			t.Errorf("event %d changes nothing: %+v", e.Seq, update)
		}
		return nil
	})
	if err != nil || !found {
		t.Errorf("no update removes %s: %v", removed, err)
	}
}

func TestFaultDeletionHasAGrace(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, skillScript("two", "Stays."))
	s := startFault(t, w, "--delete-grace", "1500ms")
	end := s.watching(t)
	s.write(t, "rm -r skills/one")
	s.gone(t, "one")
	var held []string
	for _, list := range end() {
		if len(list.Skills) == 2 && list.Skills[0].Deleting {
			held = list.Held.Deleting
		}
	}
	if fmt.Sprint(held) != "[one]" {
		t.Errorf("held %q, want it named in its grace", held)
	}
	s.servesSlugs(t, "two")
	s.heard(t)
	s.announcesChanges(t, "one")

	// "Clients should surface blocking diagnostics before letting a user assume a skill is ready" (Pioneer skills protocol,
	// "Health"). They know a diagnostic by its code, without dots.
	s.write(t, "rm -r skills") // the root goes, and its skills with it, no sooner
	s.tellsOf(t, "root_missing")
	if n := s.metric(t, `pannier_health_conditions{code="root_missing"}`); n != 1 {
		t.Errorf("%g conditions in the metrics, want 1", n)
	}
	if e, err := s.entry(t, "two"); err != nil || !e.Deleting || !e.Usable {
		t.Errorf("%+v, %v", e, err)
	}
	if status := s.status(t, "/v1/skills/two/content"); status != 409 && status != 503 {
		t.Errorf("the text of what is gone has status %d", status)
	}
	s.gone(t, "two")
}

func TestFaultUnreadableIsNotGone(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, skillScript("two", "Stays."))
	s := startUnprivileged(t, w)
	s.serves(t, "one", number(0))
	for _, path := range []string{"skills/one", "skills/one/SKILL.md", "skills"} {
		s.write(t, "chmod 000 "+path)
		need(t, s.Rescan(t.Context()))
		for _, slug := range []string{"one", "two"} {
			if e, err := s.entry(t, slug); err != nil || !e.Usable || e.Deleting {
				t.Errorf("%s can not be read: %s is %+v, %v", path, slug, e.State, err)
			}
		}
		h, err := s.Health(t.Context())
		if err != nil || h.Status == pannier.HealthOK {
			t.Errorf("%s can not be read: health %+v, %v", path, h, err)
		}
		s.write(t, "chmod 755 "+path)
		s.serves(t, "one", number(0))
		s.serves(t, "two", "Stays.")
	}
	s.healthy(t)
}

// TestFaultBadEntries puts everything into a root that can be in the way.
func TestFaultBadEntries(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w)
	s.write(t, `cd skills
		for d in dangling loop fifo device escape proc huge bomb long; do mkdir $d; done
		ln -s nowhere dangling/SKILL.md; ln -s SKILL.md loop/SKILL.md; mkfifo fifo/SKILL.md
		mknod device/SKILL.md c 1 5 2> /dev/null || ln -s /dev/zero device/SKILL.md
		ln -s ../../config.yaml escape/SKILL.md; ln -s /proc/self/environ proc/SKILL.md
		truncate -s 1G huge/SKILL.md
		printf -- '---\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\nname: n\n---\n' > bomb/SKILL.md
		ln -s . self; ln -s ../.. up; ln -s /etc etc; ln -s gone gone
		name=$(printf '%0250d' 7); mkdir $name; cp one/SKILL.md $name/SKILL.md
		mkdir "$(printf 'b\377d')" "$(printf 'line\nbreak')"; cp one/SKILL.md "$(printf 'b\377d')/"; cp one/SKILL.md "$(printf 'line\nbreak')/"
		mkdir many`)
	runWriter(t, "entries", filepath.Join(w, "skills/many"), often(20_000, 1_000_000))
	sock := shortDir(t)
	runWriter(t, "socket", filepath.Join(sock, "s"))
	s.write(t, "mkdir skills/socket; mv "+sock+"/s skills/socket/SKILL.md")
	s.write(t, skillScript("last", "Comes after all of them."))
	s.serves(t, "last", "Comes after all of them.")
	s.serves(t, "one", number(0))
	need(t, s.Rescan(t.Context()))
	list := must(s.Skills(t.Context(), "", true))(t)
	told := map[string]bool{}
	for _, e := range list.Skills {
		told[e.Path] = !e.Usable && len(e.Problems) > 0 && e.Problems[0].Hint != ""
	}
	for _, name := range []string{"dangling", "loop", "fifo", "device", "escape", "proc", "huge", "socket"} {
		if !told["skills/"+name] {
			t.Errorf("nothing is told of %s", name)
		}
	}
	if rss := s.metric(t, "process_resident_memory_bytes"); rss == 0 || rss > 200<<20 {
		t.Errorf("%v bytes of memory", rss)
	}
	s.tellsOf(t, "skills_unreadable")
}

func TestFaultOddNames(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w)
	for i, script := range []string{
		`mkdir skills/PDF; printf -- '---\nname: PDF\ndescription: number 0\n---\nx\n' > skills/PDF/SKILL.md`,
		`mkdir "skills/$(printf 'caf\303\251')"; printf -- '---\nname: cafe one\ndescription: number 0\n---\nx\n' > "skills/$(printf 'caf\303\251')/SKILL.md"`,
		`mkdir "skills/$(printf 'cafe\314\201')"; printf -- '---\nname: cafe two\ndescription: number 0\n---\nx\n' > "skills/$(printf 'cafe\314\201')/SKILL.md"`,
		`mkdir "skills/$(printf '\377x')"; printf -- '---\nname: raw\ndescription: number 0\n---\nx\n' > "skills/$(printf '\377x')/SKILL.md"`,
	} {
		s.write(t, script)
		eventually(t, "one more skill", func() error {
			list, err := s.Skills(t.Context(), "", true)
			if err == nil && len(list.Skills) != i+2 {
				err = fmt.Errorf("%d skills, want %d", len(list.Skills), i+2)
			}
			return err
		})
	}
	s.write(t, `for f in skills/*/SKILL.md; do sed -i 's/number 0/number 1/' "$f"; done`)
	eventually(t, "all of them are read anew", func() error {
		list, err := s.Skills(t.Context(), "", true)
		for _, e := range list.Skills {
			if e.Description != number(1) {
				err = errors.Join(err, fmt.Errorf("%s: %s", e.Path, e.Description))
			}
		}
		return err
	})
	s.heard(t)
}

// TestFaultFIFOInThePlaceOfADirectory puts a FIFO where a skill was, and then where the root was. Whoever opened it as a
// directory would wait for a writer for ever, and so would everybody behind.
func TestFaultFIFOInThePlaceOfADirectory(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w, "--delete-grace", "1h")
	answers := func(what string, ask func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _ = ask(ctx); ctx.Err() != nil { // an answer that is a "no" is one too
			t.Fatalf("%s: no answer", what)
		}
	}
	s.write(t, "rm -r skills/one; mkfifo skills/one")
	answers("the skill", func(ctx context.Context) error { _, err := s.Skill(ctx, "one", ""); return err })
	answers("its text", func(ctx context.Context) error { _, err := s.Content(ctx, "one"); return err })
	answers("a file of it", func(ctx context.Context) error { _, _, err := s.File(ctx, "one", "SKILL.md"); return err })
	s.write(t, "rm -r skills; mkfifo skills")
	answers("a look at everything", s.Rescan)
	s.write(t, "rm skills; mkdir -p skills/one; printf '%s' '"+numbered("one", 1)+"' > skills/one/SKILL.md")
	s.serves(t, "one", number(1))
	s.stops(t)
}

// TestFaultLinkToAFileOfAnyName writes through SKILL.md, a link to a file of another name in a directory of the same root, in
// which no other file counts. Without a resync only the kernel tells of it.
func TestFaultLinkToAFileOfAnyName(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mkdir skills/shared; mv skills/one/SKILL.md skills/shared/text.md; ln -s ../shared/text.md skills/one/SKILL.md")
	s := startFault(t, w)
	s.serves(t, "one", number(0))
	writeIn(t, w, "sed 's/number ./number 1/' skills/shared/text.md > t1; cat t1 > skills/shared/text.md") // in place
	s.serves(t, "one", number(1))
	writeIn(t, w, "sed 's/number ./number 2/' t1 > skills/shared/new; mv skills/shared/new skills/shared/text.md")
	s.serves(t, "one", number(2))
	writeIn(t, w, "rm skills/shared/text.md")
	eventually(t, "the skill is held as it was", func() error {
		e, err := s.entry(t, "one")
		if err == nil && !e.LastGood {
			err = errors.New("not yet")
		}
		return err
	})
	writeIn(t, w, "sed 's/number ./number 3/' t1 > skills/shared/text.md") // comes back
	s.serves(t, "one", number(3))
	writeIn(t, w, "mkdir skills/two; ln -s ../shared/other.md skills/two/SKILL.md; sed 's/number ./number 4/; s/name: one/name: two/' t1 > skills/shared/other.md")
	s.serves(t, "two", number(4))
	writeIn(t, w, "sed -i 's/number ./number 5/' skills/shared/other.md")
	s.serves(t, "two", number(5))
	s.heard(t)
}
