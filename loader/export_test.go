package loader

import "time"

// OnOpen makes the loader call f for each file that it has opened, with the path below its root. f may be called by
// several goroutines.
func (l *Loader) OnOpen(f func(rel string)) {
	for _, t := range l.trees {
		t.opened = f
	}
}

// SetClock makes the loader take its time from now.
func (l *Loader) SetClock(now func() time.Time) {
	for _, t := range l.trees {
		t.now = now
	}
}

// FindFrontmatter is what finds the frontmatter of a SKILL.md.
func FindFrontmatter(text []byte, whole bool, limit int64) (front, body []byte, line int, code string) {
	p, _, fault := cut(text, whole, limit)
	if fault != nil {
		code = fault.code
	}
	return p.front, p.body, p.line, code
}
