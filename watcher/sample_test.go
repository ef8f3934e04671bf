package watcher_test

import (
	"testing"
	"time"

	"pannier/watcher"
)

// TestSample checks against tables what polling reports of what it sees, second by second.
func TestSample(t *testing.T) {
	const old = -time.Hour
	type look struct {
		after time.Duration // of the epoch
		seen  watcher.Seen
		want  string
	}
	dir := func(changed time.Duration, files ...watcher.SeenFile) watcher.Seen {
		return watcher.Seen{Changed: at(changed), Files: files}
	}
	file := func(name string, changed time.Duration) watcher.SeenFile {
		return watcher.SeenFile{Name: name, Changed: at(changed)}
	}
	tests := []struct {
		name  string
		looks []look // the first is where polling begins
	}{
		{"nothing moves", []look{
			{0, dir(old, file("a", old)), ""}, {1 * s, dir(old, file("a", old)), ""}, {time.Hour, dir(old, file("a", old)), ""},
		}},
		{"an edit is told, and once more when its stat is old", []look{
			{0, dir(old, file("a", old)), ""},
			{10 * s, dir(old, file("a", 9*s)), "files"},
			{11 * s, dir(old, file("a", 9*s)), ""},
			{12 * s, dir(old, file("a", 9*s)), "files"},
			{14 * s, dir(old, file("a", 9*s)), ""},
		}},
		{"edits without a pause are told one by one", []look{
			{0, dir(old, file("a", old)), ""},
			{1 * s, dir(old, file("a", 1*s)), "files"},
			{2 * s, dir(old, file("a", 2*s)), "files"},
			{3 * s, dir(old, file("a", 2*s)), ""},
			{4 * s, dir(old, file("a", 2*s)), "files"},
			{9 * s, dir(old, file("a", 2*s)), ""},
		}},
		{"a file that comes", []look{
			{0, dir(old), ""},
			{5 * s, dir(5*s, file("a", 5*s)), "dir files"},
			{7 * s, dir(5*s, file("a", 5*s)), "dir files"},
			{9 * s, dir(5*s, file("a", 5*s)), ""},
		}},
		{"an entry that does not matter by itself", []look{
			{0, dir(old, file("a", old)), ""},
			{5 * s, dir(5*s, file("a", old)), "dir"},
			{7 * s, dir(5*s, file("a", old)), "dir"},
			{9 * s, dir(5*s, file("a", old)), ""},
		}},
		{"a file that goes", []look{
			{0, dir(old, file("a", old), file("b", old)), ""}, {5 * s, dir(5*s, file("b", old)), "dir files"},
		}},
		{"an old file in the place of another", []look{
			{0, dir(old, file("a", old)), ""}, {5 * s, dir(old, watcher.SeenFile{Name: "a", Changed: at(old), Inode: 7}), "files"},
		}},
		{"another size at the same time", []look{
			{0, dir(old, file("a", old)), ""}, {5 * s, dir(old, watcher.SeenFile{Name: "a", Changed: at(old), Size: 7}), "files"},
		}},
		{"what is young when polling begins is told once", []look{
			{0, dir(old, file("a", -1*s)), ""},
			{1 * s, dir(old, file("a", -1*s)), ""},
			{2 * s, dir(old, file("a", -1*s)), "files"},
			{4 * s, dir(old, file("a", -1*s)), ""},
		}},
		{"the clock of another machine is ahead", []look{
			{0, dir(old, file("a", time.Hour)), ""},
			{2 * s, dir(old, file("a", time.Hour)), "files"},
			{4 * s, dir(old, file("a", time.Hour)), ""},
			{9 * s, dir(old, file("a", time.Hour)), ""},
		}},
		{"a mount that does not answer", []look{
			{0, dir(old, file("a", old)), ""},
			{5 * s, watcher.Seen{Failed: true, Files: []watcher.SeenFile{file("a", old)}}, "dir"},
			{6 * s, watcher.Seen{Failed: true, Files: []watcher.SeenFile{file("a", old)}}, ""},
			{7 * s, dir(old, file("a", old)), "dir"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l watcher.Sample
			for i, look := range tt.looks {
				if got := l.Update(look.seen, at(look.after)); got != look.want {
					t.Errorf("look %d after %v told %q, want %q", i, look.after, got, look.want)
				}
			}
		})
	}
}

const s = time.Second
