package execute

import (
	"os"
	"strings"
	"testing"
)

// TestCallDirectory uses the directory of a call again only if it is as it was made.
func TestCallDirectory(t *testing.T) {
	e := executor(t, Options{})
	skill := skill(t, "")
	look := `echo $HOME; cat $PANNIER_ARGUMENTS; cd $HOME/..; find . | sort`
	first := run(t, e, shell(t, skill, "sh", "-c", look))
	if len(e.dirs.spare) != 1 || !first.OK {
		t.Fatalf("%d kept, %+v", len(e.dirs.spare), first.Error)
	}
	j := shell(t, skill, "sh", "-c", look)
	j.Arguments = []byte(`{"b":2}`)
	second := run(t, e, j)
	if want := strings.Replace(first.Output, `{}`, `{"b":2}`, 1); second.Output != want || !strings.Contains(second.Output, `{"b":2}`) {
		t.Errorf("again: %q, want %q", second.Output, want)
	}
	for _, change := range []string{
		"touch $HOME/a", "mkdir $TMPDIR/a", "ln -s / $HOME/../a", "chmod 755 $HOME", "touch -d 2001-01-01 $TMPDIR", "rmdir $HOME", "touch $HOME/a; rm $HOME/a",
		"mkfifo $TMPDIR/a", "rmdir $HOME; mkdir $HOME",
	} {
		if got := run(t, e, shell(t, skill, "sh", "-c", change)); !got.OK {
			t.Errorf("%s: %+v", change, got)
		}
		if len(e.dirs.spare) != 0 {
			t.Errorf("%s: the directory is kept", change)
		}
		got := run(t, e, shell(t, skill, "sh", "-c", look+"; stat -c %a $HOME $TMPDIR | grep -v 700; find $HOME/.. ! -newermt 2002-01-01"))
		if _, was, _ := strings.Cut(first.Output, "\n"); got.ExitCode == nil || !strings.HasSuffix(got.Output, was) {
			t.Errorf("after %s: %q, %+v", change, got.Output, got.Error)
		}
		if len(e.dirs.spare) != 1 {
			t.Errorf("after %s: %d kept", change, len(e.dirs.spare))
		}
	}
	d := e.dirs.spare[0]
	if text, err := os.ReadFile(d.path("arguments.json")); err != nil || len(text) > 0 {
		t.Errorf("the kept directory has arguments %q, %v", text, err)
	}
	for range e.MaxCalls + 2 {
		made, err := newCallDir(e.place.path("calls"), e.UID, e.GID)
		if err != nil {
			t.Fatal(err)
		}
		e.dirs.give(made, e.MaxCalls)
	}
	if left, _ := os.ReadDir(e.place.path("calls")); len(e.dirs.spare) != e.MaxCalls || len(left) != e.MaxCalls {
		t.Errorf("%d kept, %d are there", len(e.dirs.spare), len(left))
	}
}
