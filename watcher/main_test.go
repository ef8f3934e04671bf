package watcher_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// writerEnv makes the test binary a writer: a process that changes a tree and nothing else. A writer in the process of the
// watcher would wake its poller with each call, and so distort the very races that the tests are about.
const writerEnv = "PANNIER_TEST_WRITER"

func TestMain(m *testing.M) {
	if os.Getenv(writerEnv) != "" {
		if err := write(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// write runs commands, each one argument.
func write(script []string) error {
	for _, line := range script {
		if err := command(strings.Fields(line)); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

func command(f []string) error {
	switch f[0] {
	case "mkdir":
		return os.MkdirAll(f[1], 0o755)
	case "write":
		return os.WriteFile(f[1], []byte("text"), 0o644)
	case "keep": // other bytes of the same length, at the same time
		return keep(f[1])
	case "hard":
		return os.Link(f[1], f[2])
	case "over": // as editors save
		if err := os.WriteFile(f[1]+".tmp", []byte("text"), 0o644); err != nil {
			return err
		}
		return os.Rename(f[1]+".tmp", f[1])
	case "mv":
		return os.Rename(f[1], f[2])
	case "rm":
		return os.RemoveAll(f[1])
	case "link":
		return os.Symlink(f[1], f[2])
	case "relink":
		if err := os.Symlink(f[1], f[2]+".tmp"); err != nil {
			return err
		}
		return os.Rename(f[2]+".tmp", f[2])
	case "skills": // skills dir count
		return skills(f[1], f[2])
	case "deep": // deep dir count
		return deep(f[1], f[2])
	case "storm": // storm dir count, as much of it as the kernel's queue does not hold
		return storm(f[1], f[2])
	case "churn": // churn dir seed steps
		return churn(f[1], f[2], f[3])
	case "touch": // a file in every directory below
		return touch(f[1])
	}
	return fmt.Errorf("unknown command %q", f[0])
}

func keep(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte("TEXT"), 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

func count(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

func skills(dir, n string) error {
	for i := range count(n) {
		skill := filepath.Join(dir, fmt.Sprintf("skill-%d", i))
		if err := os.Mkdir(skill, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func deep(dir, n string) error {
	for i := range count(n) {
		leaf := filepath.Join(dir, fmt.Sprintf("top-%d", i), "b", "c", "d", "e")
		if err := os.MkdirAll(leaf, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(leaf, "SKILL.md"), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func storm(dir, n string) error {
	for i := range count(n) {
		path := filepath.Join(dir, fmt.Sprintf("file-%d", i%100))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// churn makes, renames and removes directories at random, a few levels deep. That some of it fails is part of it.
func churn(dir, seed, steps string) error {
	random := rand.New(rand.NewPCG(uint64(count(seed)), 1))
	anywhere := func() string {
		path := dir
		for range 1 + random.IntN(4) {
			path = filepath.Join(path, string(rune('a'+random.IntN(4))))
		}
		return path
	}
	for range count(steps) {
		switch random.IntN(6) {
		case 0:
			_ = os.RemoveAll(anywhere())
		case 1, 2:
			_ = os.Rename(anywhere(), anywhere())
		default:
			_ = os.MkdirAll(anywhere(), 0o755)
		}
	}
	return nil
}

func touch(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return os.WriteFile(filepath.Join(path, "_meta.json"), nil, 0o644)
	})
}
