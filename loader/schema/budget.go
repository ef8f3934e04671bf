package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"runtime"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of a validation.
const (
	// maxTime is processor time, so that a busy machine refuses nothing that an idle one takes.
	maxTime = 50 * time.Millisecond
	// maxPatternBytes bounds a pattern, maxPatternSize the instructions that it becomes, maxPatternsSize those of a schema.
	maxPatternBytes = 2000
	maxPatternSize  = 5000
	maxPatternsSize = 20_000
	// maxPatternWork bounds the instructions of a pattern times the bytes of a text.
	maxPatternWork = 10_000_000
	// maxUniqueItems bounds the values in a list whose items must differ, which are compared at once.
	maxUniqueItems = 20_000
	// checkEvery is how much work there is between two looks at the clock, in about 100 ns.
	checkEvery = 2000
)

// What ends a validation.
var (
	errTooCostly = errors.New("validation costs too much")
	errCanceled  = errors.New("validation was canceled")
)

// budget is the time of one validation. It panics when that is used up.
type budget struct {
	ctx   context.Context
	until time.Duration // of the processor time of the thread
	work  int           // since the last look at the clock
}

// start begins a validation, which stays on the thread until stop.
func (b *budget) start(ctx context.Context) (stop func()) {
	runtime.LockOSThread()
	*b = budget{ctx: ctx, until: threadTime() + maxTime}
	return func() {
		*b = budget{}
		runtime.UnlockOSThread()
	}
}

func (b *budget) spend(work int) {
	if b.work += work; b.work < checkEvery {
		return
	}
	b.work = 0
	if b.ctx.Err() != nil {
		panic(errCanceled)
	}
	if threadTime() > b.until {
		panic(errTooCostly)
	}
}

// counted spends what it costs to apply a schema once.
type counted struct {
	of     *budget
	weight int
	unique bool
}

// Validate implements [jsonschema.SchemaExt].
func (c counted) Validate(_ *jsonschema.ValidatorContext, value any) {
	work := 20 + c.weight
	switch v := value.(type) {
	case string:
		work += len(v) / 64
	case []any:
		work += len(v)
		if c.unique && countValues(v, maxUniqueItems) > maxUniqueItems {
			panic(errTooCostly)
		}
	case map[string]any:
		work += 2 * len(v)
	}
	c.of.spend(work)
}

// countValues counts the values in one, up to a limit.
func countValues(value any, limit int) (n int) {
	n = 1
	switch v := value.(type) {
	case string:
		n += len(v) / 256
	case []any:
		for i := 0; i < len(v) && n <= limit; i++ {
			n += countValues(v[i], limit-n)
		}
	case map[string]any:
		for _, one := range v {
			if n += countValues(one, limit-n); n > limit {
				break
			}
		}
	}
	return n
}

// patterns are those of one schema.
type patterns struct {
	of    *budget
	known map[string]*pattern
	size  int
	fault error // the first
}

// pattern is a regular expression (RE2) that is matched within the budget.
type pattern struct {
	*regexp.Regexp
	of   *budget
	size int
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	known, err := p.known[text], error(nil)
	if known == nil {
		if known, err = p.make(text); err != nil {
			p.fault = cmp.Or(p.fault, err)
			return nil, err
		}
		p.known[text] = known
	}
	return known, nil
}

func (p *patterns) make(text string) (*pattern, error) {
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern %.40q has more than %d bytes", text, maxPatternBytes)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern %.40q is not one of RE2: %w", text, err)
	}
	size := sizeOf(tree)
	if p.size += size; size > maxPatternSize || p.size > maxPatternsSize {
		return nil, fmt.Errorf("the pattern %.40q is too large: a pattern may take %d steps for each character, and those of a schema %d", text, maxPatternSize, maxPatternsSize)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{compiled, p.of, max(size, len(text))}, nil
}

// sizeOf estimates the instructions of an expression before it is compiled, which takes their memory. It stops where it is too large.
func sizeOf(e *syntax.Regexp) int {
	size := 1 + len(e.Rune)/16
	if e.Op == syntax.OpLiteral {
		size = 1 + len(e.Rune)
	}
	for _, sub := range e.Sub {
		if size += sizeOf(sub); size > maxPatternSize {
			return size
		}
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Min+1, e.Max)
	}
	return size
}

// MatchString implements [jsonschema.Regexp].
func (p *pattern) MatchString(text string) bool {
	if p.of.ctx == nil { // a value of the schema itself
		return p.Regexp.MatchString(text)
	}
	work := p.size * len(text)
	if work > maxPatternWork {
		panic(errTooCostly)
	}
	if work < 10*checkEvery {
		p.of.spend(5 + work/10)
		return p.Regexp.MatchString(text)
	}
	return p.MatchReader(&counting{text, p})
}

// counting reads the characters of a text, and spends what it costs to match each.
type counting struct {
	text string
	by   *pattern
}

// ReadRune implements [io.RuneReader].
func (c *counting) ReadRune() (rune, int, error) {
	if c.text == "" {
		return 0, 0, io.EOF
	}
	c.by.of.spend(1 + c.by.size/5)
	r, size := utf8.DecodeRuneInString(c.text)
	c.text = c.text[size:]
	return r, size, nil
}
