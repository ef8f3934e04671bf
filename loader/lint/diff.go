package lint

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many lines around a change a diff shows.
const around = 3

// diffLine is a line of a diff: kept (' '), taken away ('-') or added ('+').
type diffLine struct {
	sign byte
	line
}

// diffOf returns what was mended as a unified diff (POSIX.1-2024, diff, "Diff -u Output Format"), without its heading.
func diffOf(lines []fixedLine) string {
	var all []diffLine
	for _, l := range lines {
		if slices.Equal(l.new, []line{l.old}) {
			all = append(all, diffLine{' ', l.old})
			continue
		}
		if len(l.new) > 0 && l.new[0] == l.old { // lines were added behind it
			all = append(all, diffLine{' ', l.old})
			l.new = l.new[1:]
		} else {
			all = append(all, diffLine{'-', l.old})
		}
		for _, n := range l.new {
			all = append(all, diffLine{'+', n})
		}
	}
	var b strings.Builder
	oldLine, newLine := 1, 1
	for at := 0; at < len(all); {
		from, to := nextHunk(all, at)
		if from == len(all) {
			break
		}
		oldLine, newLine = advance(all[at:from], oldLine, newLine)
		afterOld, afterNew := advance(all[from:to], oldLine, newLine)
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(oldLine, afterOld), span(newLine, afterNew))
		for _, l := range ordered(all[from:to]) {
			writeLine(&b, l)
		}
		oldLine, newLine, at = afterOld, afterNew, to
	}
	return b.String()
}

// nextHunk returns the lines of the next hunk, which ends where two contexts lie between a change and the next.
func nextHunk(all []diffLine, at int) (from, to int) {
	for from = at; from < len(all) && all[from].sign == ' '; from++ {
	}
	if from == len(all) {
		return from, from
	}
	same := 0
	for to = from; to < len(all) && same <= 2*around; to++ {
		same++
		if all[to].sign != ' ' {
			same = 0
		}
	}
	return max(at, from-around), to - max(0, same-around)
}

// advance returns the numbers of the lines behind some.
func advance(lines []diffLine, oldLine, newLine int) (int, int) {
	for _, l := range lines {
		if l.sign != '+' {
			oldLine++
		}
		if l.sign != '-' {
			newLine++
		}
	}
	return oldLine, newLine
}

func span(from, behind int) string {
	if count := behind - from; count != 1 {
		if count == 0 {
			from-- // of no lines, the one before
		}
		return fmt.Sprintf("%d,%d", from, count)
	}
	return fmt.Sprint(from)
}

// ordered puts what is taken away before what is added, change by change, as people are used to.
func ordered(lines []diffLine) []diffLine {
	lines = slices.Clone(lines)
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].sign != ' ' {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b diffLine) int { return int(b.sign) - int(a.sign) })
		from = to + 1
	}
	return lines
}

func writeLine(b *strings.Builder, l diffLine) {
	b.WriteByte(l.sign)
	b.WriteString(l.text)
	b.WriteString(strings.TrimSuffix(l.end, "\n"))
	b.WriteByte('\n')
	if l.end == "" {
		b.WriteString("\\ No newline at end of file\n")
	}
}
