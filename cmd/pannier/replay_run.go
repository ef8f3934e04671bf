package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/config"
	"pannier/sidecar"
)

// decidedCall is a recorded call of a tool with what would be decided otherwise about it now.
type decidedCall struct {
	event   pannier.Event
	differs []difference
}

// repeatedCall is a recorded call of a tool, and what came of running it again.
type repeatedCall struct {
	Seq    uint64         `json:"seq"`
	Name   string         `json:"name"`
	CallID string         `json:"call_id"`
	Result repeatedResult `json:"result"`
	// Why says why it was not run, or names the fields that differ.
	Why string `json:"why,omitempty"`
}

type repeatedResult string

// The results.
const (
	callSame    repeatedResult = "same"
	callDiffers repeatedResult = "differs"
	callNotRun  repeatedResult = "not_run"
)

func (c repeatedCall) words() string {
	text := strings.ReplaceAll(string(c.Result), "_", " ")
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

// runAgain runs the programs of calls again, where that is allowed now, and adds to a report what differs and what was not run.
func (p *program) runAgain(ctx context.Context, s config.Settings, r *replayReport, calls []decidedCall) error {
	var programs *sidecar.Programs
	for _, c := range calls {
		call, err := dataOf[pannier.SkillToolCalled](c.event)
		if err != nil {
			return err
		}
		repeated := repeatedCall{Seq: c.event.Seq, Name: call.Name, CallID: call.CallID, Result: callNotRun}
		if len(c.differs) > 0 {
			repeated.Why = "it would not be decided as recorded"
			r.Calls = append(r.Calls, repeated)
			continue
		}
		arguments, why := argumentsOf(call)
		if why == "" && s.Tools.Runner != config.RunnerSelf {
			why = "tools.runner is " + s.Tools.Runner + "; a replay runs programs only with tools.runner: self"
		}
		if why == "" && programs == nil {
			if programs, err = sidecar.OpenPrograms(ctx, s, p.environ); err != nil {
				return &exitError{code: exitUnknown, message: "programs of tools cannot be run again: " + err.Error(), hint: "leave --run out to compare decisions only"}
			}
			defer programs.Close()
		}
		var found []difference
		if why == "" {
			if found, why, err = repeatCall(ctx, programs, call, arguments); err != nil {
				return err
			}
		}
		r.addCall(repeated, found, why)
	}
	return nil
}

// addCall adds a call that would be decided as recorded: with what differs, or why it was not run, or neither.
func (r *replayReport) addCall(c repeatedCall, found []difference, why string) {
	var fields []string
	for _, d := range found {
		d.Seq, d.Type, d.Subject = c.Seq, pannier.EventSkillToolCalled, c.Name
		r.Differences = append(r.Differences, d)
		fields = append(fields, d.Field)
	}
	switch c.Why = why; {
	case why != "":
		r.Unknown = append(r.Unknown, fmt.Sprintf("event %d: %s was not run: %s", c.Seq, c.Name, why))
	case len(found) > 0:
		c.Result, c.Why = callDiffers, strings.Join(fields, ", ")
	default:
		c.Result = callSame
	}
	r.Calls = append(r.Calls, c)
}

// outcomes are the codes with which a program itself ends; the others are about a caller, or a place.
var outcomes = []string{"", pannier.ToolFailed, pannier.ToolSignal, pannier.ToolTimedOut, pannier.ToolOutputLimit, pannier.ToolDependencyMissing}

// argumentsOf returns the arguments of a recorded call as the tool got them, or why it cannot be run again.
func argumentsOf(call pannier.SkillToolCalled) (arguments json.RawMessage, why string) {
	switch {
	case !call.Kind.RunsProgram():
		return nil, "tools of kind " + string(call.Kind) + " act on others"
	case call.Fingerprint.IsZero():
		return nil, "the output policy of the tool hides its timeline, so the event has no fingerprint and no arguments"
	case !slices.Contains(outcomes, call.Code):
		return nil, "it ended with " + call.Code + ", which does not depend on the program alone"
	case len(call.Arguments) == 0:
		return nil, "the event has no arguments; they are recorded with turn_events_text: true, up to 64 KiB"
	}
	// A sidecar writes arguments as encoding/json does. Events escape other characters, and so may a command that printed them.
	var value any
	dec := json.NewDecoder(bytes.NewReader(call.Arguments))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, "the recorded arguments are not JSON: " + err.Error()
	}
	arguments, err := json.Marshal(value)
	if err != nil {
		return nil, "the recorded arguments cannot be encoded: " + err.Error()
	}
	if pannier.DigestOf(arguments) != call.ArgumentsDigest {
		return nil, "the recorded arguments are not those that the tool got; secrets in them were replaced"
	}
	return arguments, ""
}

// repeatCall runs a program again and returns what differs, or why it was not run. The error is that of ctx.
func repeatCall(ctx context.Context, programs *sidecar.Programs, call pannier.SkillToolCalled, arguments json.RawMessage) (found []difference, why string, err error) {
	result, err := programs.Run(ctx, call.Slug, call.Name, call.Fingerprint, arguments)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if refused, ok := errors.AsType[*pannier.Refusal](err); ok {
		return nil, refused.Code + ": " + refused.Message, nil
	}
	if err != nil {
		return nil, err.Error(), nil
	}
	code := ""
	if result.Error != nil {
		if code = result.Error.Code; !slices.Contains(outcomes, code) {
			return nil, code + ": " + result.Error.Message, nil
		}
	}
	compare := func(field string, recorded, now any, same bool) {
		if !same {
			found = append(found, difference{Field: field, Recorded: recorded, Now: now})
		}
	}
	compare("ok", call.OK, result.OK, call.OK == result.OK)
	compare("code", call.Code, code, call.Code == code)
	compare("exit_code", call.ExitCode, result.ExitCode, call.ExitCode == result.ExitCode || call.ExitCode != nil && result.ExitCode != nil && *call.ExitCode == *result.ExitCode)
	digest := pannier.DigestOf([]byte(result.Output))
	compare("output_digest", call.OutputDigest, digest, call.OutputDigest == digest)
	return found, "", nil
}
