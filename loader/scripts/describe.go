package scripts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
)

// maxDescription bounds a description, in characters.
const maxDescription = 400

var (
	markdownLink  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	listMark      = regexp.MustCompile(`^(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+)+`)
	markdownMarks = strings.NewReplacer("`", "", "**", "", "__", "", "~~", "")
	sentenceEnd   = regexp.MustCompile(`[.!?][)"']?\s`)
)

// plainText returns a line of Markdown without its marks; the cells of a row of a table are joined.
func plainText(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "|") {
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			if cell = strings.TrimSpace(cell); strings.Trim(cell, "-: ") != "" {
				cells = append(cells, cell)
			}
		}
		line = strings.Join(cells, ": ")
	}
	line = markdownLink.ReplaceAllString(listMark.ReplaceAllString(line, ""), "$1")
	return strings.Join(strings.Fields(markdownMarks.Replace(line)), " ")
}

// sentenceAround returns the sentence of a line that has a place in it.
func sentenceAround(line string, at int) string {
	from, to := 0, len(line)
	for _, m := range sentenceEnd.FindAllStringIndex(line, 100) {
		isNumber := len(line[from:m[1]]) < 5 && listMark.MatchString(line[from:m[1]]+" x")
		if inCode := strings.Count(line[:m[0]], "`")%2 == 1; inCode || isNumber {
			continue
		}
		if m[1] <= at {
			from = m[1]
		} else {
			to = m[0] + 1
			break
		}
	}
	return plainText(line[from:to])
}

var (
	noise = regexp.MustCompile(`(?i)^(?:\[?TODO\b.*|[-=*#/~_+\s]*|.*-\*-.*|shellcheck\b.*|eslint.*|` +
		`pylint:.*|ruff:.*|noqa.*|type:.*|mypy:.*|vim?:.*|@ts-.*|` +
		`.*(?:copyright|spdx-|licen[sc]ed?\b|all rights reserved|elasticsearch b\.?v|contributor).*|` +
		`requires-python.*|dependencies\s*=.*|` +
		`@?(?:author|version|file|module|fileoverview|overview|since|date|created)\b[: ].{0,60}|use strict|region.*)$`)
	usage = regexp.MustCompile(`(?i)^(?:usage|examples?|options?|arguments?|args|requirements?|dependencies|notes?|` +
		`prerequisites|\.(?:parameter|example|notes))\b\s*:?`)
	starting = regexp.MustCompile(`^\.?(?i:synopsis|description|@fileoverview|@file|@description|@overview)\b[: ]*`)
)

// The words of noise that a line begins with, after marks, and those that it has anywhere.
var (
	noiseStarts = strings.Fields("todo shellcheck eslint pylint ruff noqa type mypy vi ts requires-python dependencies author " +
		"version file module fileoverview overview since date created use region")
	noiseWords = []string{"-*-", "copyright", "spdx-", "licen", "all rights reserved", "elasticsearch", "contributor"}
)

// isNoise reports whether a line says nothing of a script. Most lines have no word of noise, and the expression takes long.
func isNoise(line string) bool {
	lower := strings.ToLower(line)
	start := strings.TrimLeft(lower, "[@")
	if !slices.ContainsFunc(noiseStarts, func(word string) bool { return strings.HasPrefix(start, word) }) &&
		!slices.ContainsFunc(noiseWords, func(word string) bool { return strings.Contains(lower, word) }) &&
		strings.Trim(line, "-=*#/~_+ \t\f\v\r\n") != "" {
		return false
	}
	return noise.MatchString(line)
}

// Clean returns the first paragraph of a text that describes a script, on one line. It is empty if that says no more
// than the name of the file.
func Clean(text, name string) string {
	var words []string
	length := 0
	for line := range strings.Lines(text) {
		if length > 2*maxDescription {
			break // what follows is cut off
		}
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(starting.ReplaceAllString(line, ""))
		if line == "" || strings.Trim(line, "-=*#~_") == "" {
			if saysMore(strings.Join(words, " "), name) {
				break
			}
			words, length = nil, 0
			continue
		}
		if isNoise(line) {
			continue
		}
		if usage.MatchString(line) {
			break
		}
		if len(words) == 1 && startsSentence(line) && endsWord(words[0]) {
			words[0] += "." // a title has none
		}
		words = append(words, line)
		length += utf8.RuneCountInString(line)
	}
	described := strings.Join(strings.Fields(pannier.CleanLine(strings.Join(words, " "))), " ")
	for _, start := range []string{name, path.Base(name), strings.TrimSuffix(path.Base(name), path.Ext(name))} {
		if rest, ok := strings.CutPrefix(described, start); ok && afterName.MatchString(rest) {
			described = strings.TrimLeft(rest, " -:—–")
		}
	}
	if !saysMore(described, name) {
		return ""
	}
	return pannier.Truncate(described, maxDescription)
}

func startsSentence(line string) bool {
	r, _ := utf8.DecodeRuneInString(line)
	return unicode.IsUpper(r)
}

func endsWord(line string) bool {
	r, _ := utf8.DecodeLastRuneInString(line)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

var afterName = regexp.MustCompile(`^(?::|\s*[-—–])`)

// saysMore reports whether a description says more than the name of a file.
func saysMore(described, name string) bool {
	base := path.Base(name)
	of := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, text)
	}
	d := of(described)
	return d != of(base) && d != of(strings.TrimSuffix(base, path.Ext(base))) && d != of(name) &&
		strings.Contains(strings.TrimSpace(described), " ")
}

// Comment returns the first comment of a script, cleaned; empty if it has none before its first statement.
func Comment(name string, text []byte) string {
	line, block, close := "#", "", ""
	switch path.Ext(name) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		line, block, close = "//", "/*", "*/"
	case ".ps1":
		block, close = "<#", "#>"
	case ".rb":
		block, close = "=begin", "=end"
	}
	var lines []string
	inBlock, metadata := false, false
	flush := func() string {
		described := Clean(strings.Join(lines, "\n"), name)
		lines = nil
		return described
	}
	source := strings.TrimPrefix(strings.ReplaceAll(string(text[:min(len(text), 16<<10)]), "\r\n", "\n"), "\ufeff")
	first := true
	for l := range strings.Lines(source) {
		l = strings.TrimSpace(l)
		wasFirst := first
		first = false
		if wasFirst && strings.HasPrefix(l, "#!") {
			continue
		}
		switch {
		case inBlock, block != "" && strings.HasPrefix(l, block):
			if !inBlock {
				if described := flush(); described != "" {
					return described
				}
				l = strings.TrimPrefix(l, block)
			}
			before, _, closed := strings.Cut(l, close)
			lines = append(lines, strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(before), "*!")))
			inBlock = !closed
			if closed {
				if described := flush(); described != "" {
					return described
				}
			}
		case strings.HasPrefix(l, line):
			comment := strings.TrimSpace(strings.TrimLeft(l, line+"!"))
			if strings.HasPrefix(comment, "/// ") || l == "# ///" || strings.HasPrefix(l, "# /// ") {
				metadata = !metadata
				continue
			}
			if !metadata {
				lines = append(lines, comment)
			}
		case l == "":
			lines = append(lines, "")
		case l == `'use strict';`, l == `"use strict";`, strings.HasPrefix(strings.ToLower(l), "[cmdletbinding"):
		case strings.HasPrefix(l, "set -"), strings.HasPrefix(l, "import "), strings.HasPrefix(l, "from "),
			strings.HasPrefix(l, "const ") && strings.Contains(l, "require("):
			if described := flush(); described != "" {
				return described
			}
		default:
			return flush()
		}
	}
	return flush()
}
