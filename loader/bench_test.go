package loader_test

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"pannier"
	"pannier/loader"
)

// benchRoot returns a tree of skills. PANNIER_BENCH_ROOT names a large one; without it a small one is written.
func benchRoot(b *testing.B) string {
	b.Helper()
	if root := os.Getenv("PANNIER_BENCH_ROOT"); root != "" {
		return root
	}
	root := b.TempDir()
	for i := range 100 {
		writeSkill(b, root, "skill-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "---\nname: x\ndescription: what it does\n---\nbody\n")
	}
	return root
}

func benchLoader(root string) *loader.Loader {
	return loader.New(loader.Options{Rules: rulesFor(root)})
}

// BenchmarkFirstScan runs with the garbage put off, as the sidecar starts.
func BenchmarkFirstScan(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	root := benchRoot(b)
	for b.Loop() {
		c, err := benchLoader(root).Load(b.Context(), pannier.Batch{Seq: 1, Full: true})
		if err != nil || len(c.Skills) == 0 {
			b.Fatal(len(c.Skills), err)
		}
		b.ReportMetric(float64(len(c.Skills)), "skills")
	}
}

// BenchmarkRestoredScan is the first scan of a process that restarts.
func BenchmarkRestoredScan(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	root := benchRoot(b)
	cache := cacheOf(b, root, later)
	for b.Loop() {
		l := benchLoader(root)
		l.SetClock(later)
		l.Restore(cache, cacheKey)
		load(b, l, pannier.Batch{Full: true})
	}
	b.ReportMetric(float64(len(cache)), "cache-bytes")
}

// BenchmarkEncodeParsed is what a process does in the background to keep what it has parsed.
func BenchmarkEncodeParsed(b *testing.B) {
	l := benchLoader(benchRoot(b))
	l.SetClock(later)
	load(b, l, pannier.Batch{Full: true})
	p := l.Parsed()
	for b.Loop() {
		p.Encode(cacheKey, 64<<20)
	}
}

func BenchmarkRescanUnchanged(b *testing.B) {
	root := benchRoot(b)
	l := benchLoader(root)
	load(b, l, pannier.Batch{Full: true})
	for b.Loop() {
		load(b, l, pannier.Batch{Full: true})
	}
}

// BenchmarkContentPass is the look, every five minutes, that reads all files again.
func BenchmarkContentPass(b *testing.B) {
	l := benchLoader(benchRoot(b))
	now := time.Now().Add(time.Hour)
	l.SetClock(func() time.Time { return now })
	load(b, l, pannier.Batch{Full: true})
	for b.Loop() {
		now = now.Add(time.Hour)
		load(b, l, pannier.Batch{Full: true})
	}
}

func BenchmarkOneDirectory(b *testing.B) {
	root := benchRoot(b)
	l := benchLoader(root)
	skill := load(b, l, pannier.Batch{Full: true}).Skills[0]
	dir := filepath.Join(root, skill.PathBelowRoot)
	file := filepath.Join(dir, skill.File)
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	defer os.WriteFile(file, text, 0o644)
	past := time.Now().Add(-time.Hour)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		if err := os.WriteFile(file, append(text, byte('a'+i%26)), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(file, past, past); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		load(b, l, pannier.Batch{Dirs: []string{dir}})
	}
}
