package scripts

import (
	"regexp"
	"slices"
	"strings"

	"pannier/loader/pytool"
)

var (
	functionLine = regexp.MustCompile(`^(?:function\s+)?([\w-]+)\s*(?:\(\))?\s*\{\s*(?:#.*)?$`)
	passesAll    = regexp.MustCompile(`^([\w-]+)\s+"\$@"\s*(?:\|\|.*|;.*|#.*)?$`)
	loopLine     = regexp.MustCompile(`^(?:while\b.*(?:\$\{?#|\$\{?1)|until\b.*\$\{?#|for\s+(\w+)\s*(?:in\s+"?\$[@*]"?)?\s*;?\s*(?:do)?$|for\s+(\w+)\s+in\s+"?\$[@*]"?\s*;\s*do)`)
	caseLine     = regexp.MustCompile(`^(?:\w+="?\$\{?1[^;]*;\s*)?case\s+"?\$\{?(\w+)(?::-[^}]*)?\}?"?\s+in\b\s*(.*)$`)
	getoptsLine  = regexp.MustCompile(`\bwhile\s+getopts\s+["']?(:?[A-Za-z0-9:]+)["']?\s+(\w+)`)
	branchLine   = regexp.MustCompile(`^\(?\s*((?:"[^"]*"|'[^']*'|[^\s()"';|]+)(?:\s*\|\s*(?:"[^"]*"|'[^']*'|[^\s()"';|]+))*)\s*\)\s*(.*)$`)
	testLine     = regexp.MustCompile(`^(?:if|elif|\[\[?|test|\(\()\b?`)
	usesWords    = regexp.MustCompile(`\$\{?[1-9@*]|\bshift\b|\bset\s+--`)
	takesNumber  = regexp.MustCompile(`^(?:local\s+|readonly\s+|export\s+|declare\s+(?:-\w\s+)?)?(\w+)="?\$(?:([1-9])|\{([1-9])(?::?([-?])([^}]*))?\})"?$`)
	assigns      = regexp.MustCompile(`(?:^|[\s;])(\w+)\+?=`)
	plainDefault = regexp.MustCompile(`^(?:local\s+|readonly\s+|export\s+|declare\s+(?:-\w\s+)?)?(\w+)=(?:"([^"$\x60\\]*)"|'([^']*)'|([\w./:@%+-]*))\s*(?:#.*)?$`)
	needsWords   = regexp.MustCompile(`\$\{?#\}?"?\s*(?:-(lt|ne|eq|le)|(<|!=|==|=))\s*"?(\d)`)
)

// shellOptions returns the options of a shell script. certain is false if the script reads its words in a way that is not
// understood, so that a usage line is not to be trusted either.
func shellOptions(source string, known *usageText) (options []pytool.Option, certain bool) {
	lines := topLines(source)
	for i, line := range lines {
		if m := getoptsLine.FindStringSubmatch(line); m != nil {
			return getoptsOptions(m[1], m[2], lines[i+1:], known), false
		}
	}
	if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "getopt ") }) {
		return nil, false
	}
	defaults := map[string]string{}
	for i, line := range lines {
		if m := plainDefault.FindStringSubmatch(line); m != nil {
			defaults[m[1]] = m[2] + m[3] + m[4]
		}
		m := loopLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		places, ok := shiftedPlaces(lines[:i])
		if !ok {
			return nil, false
		}
		flags, ok := loopOptions(lines[i+1:], m[1]+m[2] != "", defaults, known)
		if !ok || len(flags) == 0 {
			return nil, false
		}
		return append(places, flags...), false
	}
	return numberedPlaces(lines, known)
}

// topLines returns the lines that run at the top level of a shell script, without comments and here-documents: those of
// functions only where they are called with all arguments.
func topLines(source string) (top []string) {
	functions := map[string][]string{}
	var within, here, pending string
	n := 0
	for line := range strings.Lines(source) {
		if n++; n > maxUsage {
			return nil
		}
		line = strings.TrimRight(line, " \t\n")
		trimmed := strings.TrimSpace(line)
		if here != "" {
			if trimmed == here {
				here = ""
			}
			continue
		}
		if before, more := strings.CutSuffix(trimmed, `\`); more && len(pending) < 8<<10 {
			pending += before
			continue
		}
		trimmed, pending = pending+trimmed, ""
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if m := hereDoc.FindStringSubmatch(trimmed); m != nil && !strings.Contains(trimmed, "<<<") {
			here = m[1]
		}
		switch m := functionLine.FindStringSubmatch(trimmed); {
		case within == "" && m != nil && (strings.Contains(trimmed, "()") || strings.HasPrefix(trimmed, "function")):
			within = m[1]
			functions[within] = []string{}
		case within != "" && strings.HasPrefix(line, "}"):
			within = ""
		case within != "":
			functions[within] = append(functions[within], trimmed)
		case strings.Contains(trimmed, "()") && strings.Contains(trimmed, "{") && strings.HasSuffix(trimmed, "}"): // in one line
		default:
			top = append(top, called(functions, trimmed, 0)...)
		}
	}
	return top
}

// called returns a line, or the lines of the function that it calls with all arguments.
func called(functions map[string][]string, line string, depth int) (lines []string) {
	m := passesAll.FindStringSubmatch(line)
	if m == nil || functions[m[1]] == nil || depth > 4 {
		return []string{line}
	}
	for _, line := range functions[m[1]] {
		lines = append(lines, called(functions, line, depth+1)...)
	}
	return lines
}

// shiftedPlaces returns the arguments by place that a script takes before its loop: each is assigned, and shifted.
func shiftedPlaces(lines []string) (places []pytool.Option, ok bool) {
	assigned := []pytool.Option{}
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			m := takesNumber.FindStringSubmatch(part)
			switch {
			case m != nil:
				if m[2]+m[3] != "1" || len(assigned) > 0 {
					return nil, false
				}
				assigned = append(assigned, placeOption(m, m[4] != "-"))
			case part == "shift" || strings.HasPrefix(part, "shift ||"):
				if len(assigned) != 1 {
					return nil, false
				}
				places, assigned = append(places, assigned[0]), assigned[:0]
			case usesWords.MatchString(part) && !testLine.MatchString(part):
				return nil, false
			}
		}
	}
	return places, len(assigned) == 0
}

// placeOption returns the option of an assignment that takesNumber matches.
func placeOption(m []string, required bool) pytool.Option {
	v := pytool.Value{Required: required}
	if m[4] == "-" && !strings.ContainsAny(m[5], "$`\"'\\") {
		v.Default = m[5]
	}
	return pytool.Option{Name: strings.ToLower(m[1]), Raw: true}.With(v)
}

// branch is a branch of a case.
type branch struct {
	patterns []string
	body     string
}

// branchesOf returns the branches of the case whose head is before lines. ok is false if they cannot be read.
func branchesOf(first string, lines []string) (branches []branch, ok bool) {
	var current *branch
	depth := 0
	for _, line := range append([]string{first}, lines...) {
		for line != "" {
			if depth == 0 && (line == "esac" || strings.HasPrefix(line, "esac ") || strings.HasPrefix(line, "esac;")) {
				return branches, true
			}
			if current == nil {
				m := branchLine.FindStringSubmatch(line)
				if m == nil {
					return nil, false
				}
				var patterns []string
				for pattern := range strings.SplitSeq(m[1], "|") {
					patterns = append(patterns, strings.Trim(strings.TrimSpace(pattern), `"'`))
				}
				branches = append(branches, branch{patterns: patterns})
				current = &branches[len(branches)-1]
				line = m[2]
				continue
			}
			if caseLine.MatchString(line) {
				depth++
			}
			if depth > 0 && strings.HasSuffix(line, "esac") {
				depth--
				current.body += line + "\n"
				break
			}
			before, after, ends := strings.Cut(line, ";;")
			if depth > 0 || !ends {
				current.body += line + "\n"
				break
			}
			current.body += before + "\n"
			current = nil
			line = strings.TrimSpace(strings.TrimLeft(after, "&"))
			if strings.HasPrefix(line, "#") {
				line = ""
			}
		}
	}
	return nil, false
}

// loopOptions returns the options of the case in a loop over all arguments. overAll says that the loop is `for`, so that
// a flag cannot take the next word.
func loopOptions(lines []string, overAll bool, defaults map[string]string, known *usageText) (options []pytool.Option, ok bool) {
	var branches []branch
	for i, line := range lines {
		if m := caseLine.FindStringSubmatch(line); m != nil {
			if branches, ok = branchesOf(strings.TrimSpace(m[2]), lines[i+1:]); !ok {
				return nil, false
			}
			break
		}
		if line == "done" || i > 8 {
			return nil, false
		}
	}
	for _, b := range branches {
		var flags []string
		for _, pattern := range b.patterns {
			if strings.HasPrefix(pattern, "-") && len(pattern) > 1 && pattern != "--" {
				flags = append(flags, pattern)
			}
		}
		if len(flags) != len(b.patterns) || slices.Contains(flags, "--help") || slices.Contains(flags, "-h") ||
			slices.Contains(flags, "--version") {
			continue
		}
		flag := flags[0]
		for _, f := range flags {
			if strings.HasPrefix(f, "--") {
				flag = f
				break
			}
		}
		joined := strings.HasSuffix(flag, "=*")
		flag = strings.TrimSuffix(flag, "*")
		if strings.ContainsAny(flag, "*?[$ ") || flag == "--" || flag == "-" || joined && len(flags) > 1 {
			continue
		}
		o := pytool.Option{Flag: flag, Name: optionName(strings.TrimSuffix(flag, "=")), Raw: true}
		if slices.ContainsFunc(options, func(other pytool.Option) bool { return other.Name == o.Name }) {
			continue
		}
		next := strings.Contains(b.body, "$2") || strings.Contains(b.body, "${2")
		if !next && strings.Contains(b.body, "shift") {
			_, after, _ := strings.Cut(b.body, "shift")
			next = strings.Contains(after, "$1") || strings.Contains(after, "${1")
		}
		v := pytool.Value{Description: known.describe(append(flags, strings.TrimSuffix(flag, "="))...)}
		switch {
		case joined:
		case overAll && (next || strings.Contains(b.body, "shift")):
			return nil, false
		case next && (strings.Contains(b.body, `"$2" == -`) || strings.Contains(b.body, `"$2" != -`) || strings.Contains(b.body, `$2 =~`) ||
			strings.Contains(b.body, "${2:0:1}")):
			continue // the value can be missing
		case !next:
			o.Kind = pytool.OptionSwitch
		}
		if m := assigns.FindStringSubmatch(b.body); m != nil && o.Kind == "" {
			v.Default = defaults[m[1]]
		}
		if o.Kind == "" && strings.Contains(b.body, "+=(") {
			o.Kind = pytool.OptionRepeat
		}
		options = append(options, o.With(v))
	}
	return options, true
}

// getoptsOptions returns the options of getopts.
func getoptsOptions(spec, variable string, lines []string, known *usageText) (options []pytool.Option) {
	names := map[string]string{}
	for i, line := range lines {
		if m := caseLine.FindStringSubmatch(line); m != nil && m[1] == variable {
			branches, _ := branchesOf(strings.TrimSpace(m[2]), lines[i+1:])
			for _, b := range branches {
				if m := assigns.FindStringSubmatch(b.body); m != nil && len(b.patterns) == 1 {
					names[b.patterns[0]] = strings.ToLower(m[1])
				}
			}
			break
		}
	}
	spec = strings.TrimPrefix(spec, ":")
	for i := 0; i < len(spec); i++ {
		letter := spec[i : i+1]
		takes := i+1 < len(spec) && spec[i+1] == ':'
		if takes {
			i++
		}
		if letter == "h" && !takes || letter == ":" {
			continue
		}
		o := pytool.Option{Name: letter, Flag: "-" + letter, Raw: true}
		if name := names[letter]; name != "" && !slices.ContainsFunc(options, func(o pytool.Option) bool { return o.Name == name }) {
			o.Name = name
		}
		if !takes {
			o.Kind = pytool.OptionSwitch
		}
		options = append(options, o.With(pytool.Value{Description: known.describe("-" + letter)}))
	}
	return options
}

// numberedPlaces returns the arguments by place of a script that assigns each of them to a variable, in their order, and
// uses them in no other way. certain says whether the script uses its arguments in no way that is not understood.
func numberedPlaces(lines []string, known *usageText) (places []pytool.Option, certain bool) {
	var found [][]string
	needed := 0
	for i, line := range lines {
		exits := func() bool {
			for _, next := range lines[i:min(i+8, len(lines))] {
				if strings.Contains(next, "exit 1") || strings.Contains(next, "exit 2") || strings.Contains(next, "exit 64") ||
					strings.HasPrefix(next, "usage") {
					return true
				}
				if next == "fi" || strings.HasSuffix(next, "; fi") {
					break
				}
			}
			return false
		}
		m := takesNumber.FindStringSubmatch(strings.TrimSuffix(line, ";"))
		switch {
		case m != nil:
			n := int((m[2] + m[3])[0] - '0')
			if n != len(found)+1 {
				return nil, false
			}
			found = append(found, m)
			if m[4] == "?" {
				needed = n
			}
		case testLine.MatchString(line):
			if m := needsWords.FindStringSubmatch(line); m != nil && exits() {
				count := int(m[3][0] - '0')
				switch m[1] + m[2] {
				case "eq", "le", "==", "=":
					count++
				}
				needed = max(needed, count)
			}
			for n, m := range found {
				if (strings.Contains(line, `-z "$`+m[1]+`"`) || strings.Contains(line, `-z "${`+m[1]+`}"`) || strings.Contains(line, "-z $"+m[1]+" ")) && exits() {
					needed = max(needed, n+1)
				}
			}
		case usesWords.MatchString(line):
			return nil, len(found) == 0
		}
	}
	for n, m := range found {
		required := n < needed
		if required && m[4] == "-" {
			m[5] = ""
		}
		places = append(places, placeOption(m, required))
	}
	return places, len(found) == 0
}
