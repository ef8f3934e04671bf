package scan

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used. All of them take some 14 ms, which a process that
// scans nothing saves, and a sidecar spends after its start.
type pattern struct{ compiled func() *regexp.Regexp }

// patterns are all there are, for a test that compiles them.
var patterns []*pattern

// compile returns the pattern of a text. It panics when it is first used if the text is not a regular expression.
func compile(text string) *pattern {
	p := &pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	patterns = append(patterns, p)
	return p
}

func (p *pattern) Match(b []byte) bool              { return p.compiled().Match(b) }
func (p *pattern) MatchString(s string) bool        { return p.compiled().MatchString(s) }
func (p *pattern) Find(b []byte) []byte             { return p.compiled().Find(b) }
func (p *pattern) FindIndex(b []byte) []int         { return p.compiled().FindIndex(b) }
func (p *pattern) FindString(s string) string       { return p.compiled().FindString(s) }
func (p *pattern) FindSubmatch(b []byte) [][]byte   { return p.compiled().FindSubmatch(b) }
func (p *pattern) FindSubmatchIndex(b []byte) []int { return p.compiled().FindSubmatchIndex(b) }

func (p *pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
func (p *pattern) FindAll(b []byte, n int) [][]byte     { return p.compiled().FindAll(b, n) }
func (p *pattern) FindAllIndex(b []byte, n int) [][]int { return p.compiled().FindAllIndex(b, n) }

func (p *pattern) FindAllSubmatch(b []byte, n int) [][][]byte {
	return p.compiled().FindAllSubmatch(b, n)
}

func (p *pattern) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return p.compiled().FindAllSubmatchIndex(b, n)
}
func (p *pattern) ReplaceAll(src, repl []byte) []byte { return p.compiled().ReplaceAll(src, repl) }
func (p *pattern) ReplaceAllLiteral(src, repl []byte) []byte {
	return p.compiled().ReplaceAllLiteral(src, repl)
}
