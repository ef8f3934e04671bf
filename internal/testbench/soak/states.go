package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// states knows which contents can be shown: those that were anywhere in the workspace when it was last quiet, or shown then,
// and those that writers have made since.
type states struct {
	mu        sync.Mutex
	workspace string
	alive     map[token]bool
	issued    map[int]int // by writer, when it was last quiet
}

var tokenPattern = regexp.MustCompile(`\bw\d+-\d+\b`)

// settle takes over the state while no writer is active: on the disk, and in what the sidecar shows. issued are how many tokens
// each writer has made.
func (s *states) settle(workspace string, shown []byte, issued map[int]int) error {
	alive := map[token]bool{}
	for _, t := range tokenPattern.FindAllString(string(shown), -1) {
		alive[token(t)] = true
	}
	err := filepath.WalkDir(workspace, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			for _, t := range tokenPattern.FindAllString(head(path), -1) {
				alive[token(t)] = true
			}
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workspace, s.alive, s.issued = workspace, alive, issued
	return err
}

// head returns the beginning of a file, empty where it cannot be read. One that cannot be read now may be later.
func head(path string) string {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Perm() == 0 {
		os.Chmod(path, 0o600)
		defer os.Chmod(path, 0)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text := make([]byte, 512)
	n, _ := f.Read(text)
	return string(text[:n])
}

// judge says what is wrong with a card: each skill must be of one content that can be there, and the skills of one `..data`
// directory of one generation.
func (s *states) judge(text json.RawMessage) error {
	var card struct{ Skills []cardSkill }
	if err := json.Unmarshal(text, &card); err != nil {
		return err
	}
	var errs []error
	generation := map[string]string{}
	for _, skill := range card.Skills {
		errs = append(errs, skill.whole(), s.possible(skill))
		if !strings.HasPrefix(skill.ID, "data-") {
			continue
		}
		mount := skill.ID[len(skill.ID)-1:]
		if other := generation[mount]; other != "" && other != skill.Name && !s.torn(other) && !s.torn(skill.Name) {
			errs = append(errs, fmt.Errorf("mount %s: %w: %s and %s", mount, errMixed, other, skill.Name))
		}
		generation[mount] = skill.Name
	}
	return errors.Join(errs...)
}

// torn reports whether a generation of a mount lacked a skill when it was first seen. Where another writer moved the root
// away while it was written, or before, it can have, and what it lacks is rightly shown from the generation before, for
// its grace.
func (s *states) torn(generation string) bool {
	s.mu.Lock()
	workspace := s.workspace
	s.mu.Unlock()
	text, _ := os.ReadFile(tornList(workspace)) // there is none where none was torn
	return slices.Contains(strings.Fields(string(text)), generation)
}

// tornList is the file that writers name torn generations in.
func tornList(workspace string) string { return workspace + ".torn" }

// possible returns nil where the content of a skill was there when all was last quiet, or was made since.
func (s *states) possible(skill cardSkill) error {
	var writer, number int
	if _, err := fmt.Sscanf(skill.Name, "w%d-%d", &writer, &number); err != nil {
		return nil // it tells its folder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive == nil || s.alive[token(skill.Name)] || number > s.issued[writer] {
		return nil
	}
	return fmt.Errorf("skill %s: %s was gone when all was quiet", skill.ID, skill.Name)
}
