// Package schema validates the arguments of tools by the JSON Schemas that skills declare. A schema comes from a stranger, so its size,
// its depth and what it applies to one value are bounded when it is compiled, and the processor time when it is used.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"pannier"
)

// The bounds of arguments.
const (
	maxArgumentBytes = 1 << 20
	maxArgumentDepth = 64
	maxToldFaults    = 5
)

// Schema validates arguments. It is for any number of callers, one after the other.
type Schema struct {
	with  *jsonschema.Schema
	free  chan struct{} // holds a value while no validation goes on
	spent budget        // of the validation that goes on
}

// Compile returns the schema of parameters, or says why they cannot be used. All are read as draft 2020-12.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("they have more than %d bytes", maxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	top, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("they are not an object")
	}
	if err := checkNumbers(top); err != nil {
		return nil, err
	}
	delete(top, "$id")
	delete(top, "$schema")
	p := planner{top: top, applied: map[string]int{}}
	if err := p.check(top, 0); err != nil {
		return nil, err
	}
	s := &Schema{free: make(chan struct{}, 1)}
	s.free <- struct{}{}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	patterns := &patterns{of: &s.spent, known: map[string]*pattern{}}
	c.UseRegexpEngine(patterns.compile)
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "https://pannier.invalid/cost", Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
		weight, ok := obj[costKeyword].(json.Number)
		if !ok {
			return nil, nil
		}
		n, err := weight.Int64()
		unique, _ := obj[uniqueKeyword].(bool)
		return counted{&s.spent, int(n), unique}, err
	}})
	c.AssertVocabs()
	const place = "https://pannier.invalid/parameters"
	if err := c.AddResource(place, wrap(top)); err != nil {
		return nil, err
	}
	if s.with, err = c.Compile(place); patterns.fault != nil {
		return nil, patterns.fault
	} else if err != nil {
		return nil, errors.New(pannier.Truncate(strings.ReplaceAll(err.Error(), "\n", " "), 500))
	}
	return s, nil
}

// noLoader refuses schemas that lie elsewhere.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.100q is another document; only $defs of the schema itself can be referred to", url)
}

// Validate returns the arguments in one form, so that no reader sees others than were validated. A refusal says what is wrong with
// them. The end of ctx ends the validation with the error of ctx.
func (s *Schema) Validate(ctx context.Context, text json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(text)) == 0 || string(bytes.TrimSpace(text)) == "null" {
		text = json.RawMessage("{}")
	}
	if len(text) > maxArgumentBytes {
		return nil, refuse(fmt.Sprintf("the arguments have more than %d bytes", maxArgumentBytes), "send less; put files into the project directory")
	}
	if depthOf(text) > maxArgumentDepth {
		return nil, refuse(fmt.Sprintf("the arguments are deeper than %d", maxArgumentDepth), "send less deep ones")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, refuse("the arguments are not JSON: "+err.Error(), "send a JSON object")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, refuse("the arguments are not a JSON object", "send an object, such as {}")
	}
	if err := checkNumbers(value); err != nil {
		return nil, refuse("the arguments have a number that "+err.Error(), "send a smaller number, or a text")
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.free <- struct{}{} }()
	if err := s.apply(ctx, value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func (s *Schema) apply(ctx context.Context, value any) (err error) {
	stop := s.spent.start(ctx)
	defer func() {
		stop()
		switch cause := recover(); {
		case cause == any(errCanceled):
			err = ctx.Err()
		case cause == any(errTooCostly):
			err = refuse("the arguments cannot be validated within the bounds", "send less, or ask the author of the skill for simpler parameters")
		case cause != nil:
			panic(cause)
		}
	}()
	failed := s.with.Validate(value)
	if failed == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](failed)
	if !ok {
		return refuse(failed.Error(), "send arguments that match the parameters of the tool")
	}
	return refuse("the arguments do not match the parameters of the tool: "+strings.Join(faultsOf(invalid, nil), "; "), "run \"pannier tool show NAME\" to see the parameters")
}

func refuse(message, hint string) error {
	return &pannier.Refusal{Code: pannier.ToolArgumentsInvalid, Message: message, Hint: hint}
}

var english = message.NewPrinter(language.English)

// faultsOf returns the first faults, each with its place.
func faultsOf(e *jsonschema.ValidationError, told []string) []string {
	if len(e.Causes) == 0 && len(told) < maxToldFaults {
		return append(told, pannier.Truncate(fmt.Sprintf("/%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(english)), 300))
	}
	for _, cause := range e.Causes {
		if len(told) >= maxToldFaults {
			break
		}
		told = faultsOf(cause, told)
	}
	return told
}

// depthOf returns how deep lists and objects of a JSON text are in one another.
func depthOf(text []byte) (deepest int) {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inText && b == '\\':
			i++
		case b == '"':
			inText = !inText
		case inText:
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest
}
