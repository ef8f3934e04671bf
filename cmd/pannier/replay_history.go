package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"

	"pannier"
	"pannier/internal/seqlog"
)

// history is what recorded events come to at their end.
type history struct {
	recording recording
	// catalog is the last one that was recorded, seq its number, and slugs the skills in it; nil where the events do not
	// begin with a whole catalog.
	catalog pannier.CatalogUpdated
	seq     uint64
	slugs   map[string]bool
	// policies are what clients had set. whole says that nothing of it can be missing.
	policies map[pannier.PolicyKey]pannier.PolicyEntry
	whole    bool
	// environment is what skills were judged by; nil where that never changed.
	environment *pannier.EnvironmentChanged
	// blocked are the skills that a scan blocked, by path.
	blocked map[string]bool
	// slugOf has the slugs that events tell of paths.
	slugOf map[string]string
	// turns are the turns that were recorded themselves in the last catalog, by digest.
	turns    map[pannier.Digest]pannier.TurnResolved
	requests int // loads, invocations, reads, calls of tools, and turns that were recorded themselves
}

// repeatable reports whether an event records a request that can be made again.
func repeatable(e pannier.Event) bool {
	switch e.Type {
	case pannier.EventSkillLoaded, pannier.EventSkillInvoked, pannier.EventSkillFileRead, pannier.EventSkillToolCalled:
		return true
	case pannier.EventTurnResolved:
		turn, err := dataOf[pannier.TurnResolved](e)
		return err == nil && turn.Turn != nil
	}
	return false
}

func historyOf(r recording) (*history, error) {
	h := &history{
		recording: r, whole: !r.gap && r.first() == 1, policies: map[pannier.PolicyKey]pannier.PolicyEntry{},
		blocked: map[string]bool{}, slugOf: map[string]string{}, turns: map[pannier.Digest]pannier.TurnResolved{},
	}
	for _, e := range r.events {
		if err := h.record(e); err != nil {
			return nil, fmt.Errorf("event %d, %s: %w", e.Seq, e.Type, err)
		}
	}
	if h.seq == 0 {
		return nil, errors.New("no skill_catalog_updated event found")
	}
	return h, nil
}

func dataOf[T any](e pannier.Event) (data T, err error) {
	err = json.Unmarshal(e.Data.(json.RawMessage), &data)
	return data, err
}

func (h *history) record(e pannier.Event) error {
	switch e.Type {
	case pannier.EventCatalogUpdated:
		c, err := dataOf[pannier.CatalogUpdated](e)
		if err != nil {
			return err
		}
		h.recordCatalog(e.Seq, c)
		clear(h.turns)
	case pannier.EventTurnResolved:
		turn, err := dataOf[pannier.TurnResolved](e)
		if err != nil || turn.Turn == nil {
			return err
		}
		h.turns[turn.TurnDigest] = turn
		h.requests++
	case pannier.EventPolicyChanged:
		c, err := dataOf[pannier.PolicyChanged](e)
		if err != nil {
			return err
		}
		if h.policies[c.PolicyKey] = c.After; c.After.IsZero() {
			delete(h.policies, c.PolicyKey)
		}
	case pannier.EventEnvironmentChanged:
		c, err := dataOf[pannier.EnvironmentChanged](e)
		h.environment = &c
		return err
	case pannier.EventSkillScanned:
		c, err := dataOf[pannier.SkillScanned](e)
		h.blocked[c.Path] = c.Decision == pannier.ScanBlock
		return err
	case pannier.EventSkillStateChanged:
		c, err := dataOf[pannier.SkillStateChanged](e)
		h.slugOf[c.Path] = c.Slug
		return err
	default:
		if repeatable(e) {
			h.requests++
		}
	}
	return nil
}

func (h *history) recordCatalog(seq uint64, c pannier.CatalogUpdated) {
	h.catalog, h.seq = c, seq
	if isWhole(c) {
		h.slugs = map[string]bool{}
	}
	if h.slugs == nil {
		return
	}
	for _, slug := range c.Added {
		h.slugs[slug] = true
	}
	for _, slug := range c.Removed {
		delete(h.slugs, slug)
	}
}

// isWhole reports whether a catalog was told as a whole, as it is at each start.
func isWhole(c pannier.CatalogUpdated) bool {
	return len(c.Changed)+len(c.Removed) == 0 && len(c.Added) == c.Count-len(c.Collisions)
}

// unsuperseded returns the events of what was done with skills that did not change afterwards, and of turns in the catalog as
// it is; digest is that of its snapshot. slugAt tells the slug of the skill that is at a path now, empty where there is none.
func (h *history) unsuperseded(digest pannier.Digest, slugAt func(string) string) []pannier.Event {
	var current []pannier.Event
	for _, e := range h.recording.events {
		if repeatable(e) {
			current = append(current, e)
			continue
		}
		c, err := dataOf[pannier.CatalogUpdated](e)
		if e.Type != pannier.EventCatalogUpdated || err != nil {
			continue
		}
		moved := slices.Concat(c.Added, c.Changed, c.Removed)
		current = slices.DeleteFunc(current, func(e pannier.Event) bool {
			return isWhole(c) || slices.Contains(moved, h.slug(e, slugAt))
		})
	}
	return slices.DeleteFunc(current, func(e pannier.Event) bool { return h.isOtherTurn(e, digest) })
}

// isOtherTurn reports whether an event is of a turn that cannot be resolved again: the snapshot is another one, or the turn
// matched a skill and was not recorded itself.
func (h *history) isOtherTurn(e pannier.Event, digest pannier.Digest) bool {
	switch e.Type {
	case pannier.EventTurnResolved:
		turn, _ := dataOf[pannier.TurnResolved](e)
		return turn.Digest != digest
	case pannier.EventSkillInvoked:
		run, _ := dataOf[pannier.SkillInvoked](e)
		return run.Mode == pannier.InvokedAutomatically && h.turns[run.TurnDigest].Digest != digest
	}
	return false
}

// turnOf returns the turn that invoked a skill, or one that invokes it by name where that turn was not recorded itself.
func (h *history) turnOf(run pannier.SkillInvoked) pannier.TurnResolved {
	if turn, ok := h.turns[run.TurnDigest]; ok {
		return turn
	}
	turn := pannier.Turn{Capabilities: []pannier.Capability{{Slug: run.Slug}}}
	if run.Args != "" {
		turn.Text = "/skill:" + run.Slug + " " + run.Args
	}
	return pannier.TurnResolved{Turn: &turn}
}

func (h *history) slug(e pannier.Event, slugAt func(string) string) string {
	if e.Type == pannier.EventTurnResolved {
		return ""
	}
	if e.Type != pannier.EventSkillLoaded {
		named, _ := dataOf[pannier.SkillInvoked](e) // a file that was read, or a tool, is of a slug too
		return named.Slug
	}
	at := pathOf(e)
	if slug := slugAt(at); slug != "" {
		return slug
	}
	if slug, ok := h.slugOf[at]; ok {
		return slug
	}
	return path.Base(at)
}

func pathOf(e pannier.Event) string {
	loaded, _ := dataOf[struct {
		Path string `json:"path"`
	}](e)
	return loaded.Path
}

// maxEnvelope bounds one recorded event, in bytes.
const maxEnvelope = 8 << 20

// recording is a row of recorded events, with their data as [json.RawMessage].
type recording struct {
	events []pannier.Event
	// gap is set where events between others are missing.
	gap bool
}

func (r recording) first() uint64 { return r.events[0].Seq }
func (r recording) last() uint64  { return r.events[len(r.events)-1].Seq }

// readRecording reads events from a journal directory, a file, or stdin. It only reads: the journal may be in use.
func readRecording(path string) (recording, error) {
	if path == "-" {
		var r recording
		return r.checked(r.read(os.Stdin, "stdin", false))
	}
	info, err := os.Stat(path)
	if err != nil {
		return recording{}, err
	}
	files := []string{path}
	if info.IsDir() {
		numbers, err := seqlog.Segments(path, math.MaxUint64)
		if err == nil && len(numbers) == 0 {
			err = fmt.Errorf("%s has no segment of a journal", path)
		}
		if err != nil {
			return recording{}, err
		}
		files = nil
		for _, first := range numbers {
			files = append(files, seqlog.SegmentPath(path, first))
		}
	}
	var r recording
	for i, file := range files {
		if err = r.readFile(file, info.IsDir() && i == len(files)-1); err != nil {
			break
		}
	}
	return r.checked(err)
}

// checked returns the recording, unless reading it failed or there is nothing in it.
func (r *recording) checked(err error) (recording, error) {
	if err == nil && len(r.events) == 0 {
		err = errors.New("no event found")
	}
	return *r, err
}

func (r *recording) readFile(path string, torn bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(f, filepath.Base(path), torn)
}

// read reads lines. torn allows an incomplete last line, because the sidecar may be writing it.
func (r *recording) read(from io.Reader, name string, torn bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEnvelope)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if atEOF && torn && !bytes.Contains(data, []byte("\n")) {
			return len(data), nil, nil
		}
		return bufio.ScanLines(data, atEOF)
	})
	n := 1
	for ; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := r.appendLine(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n, err)
	}
	return nil
}

func (r *recording) appendLine(line []byte) error {
	var data json.RawMessage
	e := pannier.Event{Data: &data}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("not an event: %w", err)
	}
	if e.Type == "" || e.Seq == 0 || data == nil {
		return errors.New("not an event: seq, type or data is missing")
	}
	if n := len(r.events); n > 0 {
		if e.Seq <= r.last() {
			return fmt.Errorf("event %d follows event %d", e.Seq, r.last())
		}
		r.gap = r.gap || e.Seq != r.last()+1
	}
	e.Data = data
	r.events = append(r.events, e)
	return nil
}
