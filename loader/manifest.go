package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
)

const (
	// manifestTries bounds how often a directory that changes while it is read is read.
	manifestTries = 3
	// maxManifestCache bounds the memory of the manifests that are kept.
	maxManifestCache = 32 << 20
)

// Manifest returns the manifest of a skill of a catalog as its directory is now. Files are read if their stats say that they
// may have changed since they were last read. It fails with [pannier.ErrChanged] if SKILL.md or _meta.json is not the one of
// the catalog, or the directory keeps changing, and with [pannier.ErrNotServable] for a skill that has no readable SKILL.md.
func (l *Loader) Manifest(ctx context.Context, s *pannier.Skill) (pannier.Manifest, error) {
	return l.RecentManifest(ctx, s, 0)
}

// RecentManifest is [Loader.Manifest] for a caller that takes a manifest that was compared with the disk within maxAge. The
// SKILL.md and _meta.json of the catalog count at once, whatever maxAge is. Callers of one skill at the same time share the work.
func (l *Loader) RecentManifest(ctx context.Context, s *pannier.Skill, maxAge time.Duration) (pannier.Manifest, error) {
	if s.ToolsOnly || s.Broken || s.LastGood || s.Deleting {
		return pannier.Manifest{}, pannier.ErrNotServable
	}
	known := l.manifests.get(s)
	if known.isRecent(maxAge) {
		return known.manifest, nil
	}
	if maxAge > 0 {
		done, first := l.manifests.begin(s.Path)
		if first {
			defer l.manifests.end(s.Path, done)
		} else {
			select {
			case <-done:
			case <-ctx.Done():
				return pannier.Manifest{}, ctx.Err()
			}
			if known = l.manifests.get(s); known.isRecent(maxAge) {
				return known.manifest, nil
			}
		}
	}
	for range manifestTries {
		now, err := l.buildManifest(ctx, s, known)
		if err == nil {
			l.manifests.put(s.Path, now)
			return now.manifest, nil
		}
		if !errors.Is(err, errMoved) {
			return pannier.Manifest{}, fmt.Errorf("manifest of %s: %w", s.Path, err)
		}
		known = now
	}
	return pannier.Manifest{}, fmt.Errorf("manifest of %s: %w", s.Path, pannier.ErrChanged)
}

// errMoved says that something changed in a directory while it was read.
var errMoved = errors.New("changed while it was read")

// knownManifest is a manifest with what it was made from. It is immutable once it is in the cache.
type knownManifest struct {
	manifest pannier.Manifest
	// skill and meta are the digests of SKILL.md and _meta.json in the catalog.
	skill, meta pannier.Digest
	files       map[string]knownContent
	compared    time.Time
}

// isRecent reports whether a manifest was compared with the disk within maxAge.
func (k *knownManifest) isRecent(maxAge time.Duration) bool {
	return k != nil && time.Since(k.compared) < maxAge
}

// knownContent is what is known of the content of a file.
type knownContent struct {
	stamp  fsx.Stamp
	digest pannier.Digest // zero where the file is not served, or was not read
	read   time.Time      // when reading it began
}

// holds reports whether an equal stamp at a time proves that the content is the same.
func (c knownContent) holds(stamp fsx.Stamp, at time.Time) bool {
	return c.stamp == stamp && !stamp.WithinRacyWindow(c.read) && at.Sub(c.read) < fsx.ContentInterval
}

// manifestBuilder builds one manifest.
type manifestBuilder struct {
	loader *Loader
	skill  *pannier.Skill
	known  *knownManifest // nil where nothing is known
	began  time.Time
	files  map[string]knownContent
	text   []byte // of SKILL.md, where it was read
	moved  bool   // something was read
}

// buildManifest compares the directory of a skill with what is known of it and reads the rest. With errMoved it returns what it
// came to know.
func (l *Loader) buildManifest(ctx context.Context, s *pannier.Skill, known *knownManifest) (*knownManifest, error) {
	b := &manifestBuilder{loader: l, skill: s, known: known, began: time.Now(), files: map[string]knownContent{}}
	before, err := b.list(ctx)
	if err != nil {
		return nil, err
	}
	if _, ok := before.stamps[s.File]; !ok {
		return nil, pannier.ErrChanged
	}
	dynamic := before.truncated || exceedsManifest(before.files)
	for _, f := range before.files {
		if dynamic && f.Path != s.File {
			b.files[f.Path] = knownContent{stamp: before.stamps[f.Path]}
			continue
		}
		if err := b.read(ctx, f.Path, before.stamps[f.Path]); err != nil {
			return b.result(), err
		}
	}
	if !b.moved && known != nil && len(b.files) == len(known.files) && dynamic == known.manifest.Dynamic {
		same := *known
		same.compared = b.began
		return &same, nil
	}
	after, err := b.list(ctx)
	if err != nil {
		return nil, err
	}
	if before.truncated != after.truncated || !maps.Equal(before.stamps, after.stamps) {
		return b.result(), errMoved
	}
	return b.finish(before.files, dynamic)
}

// exceedsManifest reports whether files are past the bounds of a manifest.
func exceedsManifest(files []pannier.File) bool {
	size := int64(0)
	for _, f := range files {
		size += f.Size
	}
	return len(files) > pannier.MaxManifestFiles || size > pannier.MaxManifestBytes
}

// list lists the files that are served, with their stamps. That the directory cannot be opened any more is a change.
func (b *manifestBuilder) list(ctx context.Context) (*lister, error) {
	dir, err := b.loader.openDir(b.skill)
	if err != nil {
		return nil, changedUnlessBusy(err)
	}
	defer dir.close()
	serves := b.loader.servedOf(b.skill)
	w := &lister{rules: b.loader.rules, serves: serves, skill: b.skill, place: b.loader.placeOf(b.skill), dir: dir, stamps: map[string]fsx.Stamp{}}
	if err := w.listAll(ctx); err != nil {
		return nil, err // ctx is done
	}
	w.files = slices.DeleteFunc(w.files, func(f pannier.File) bool { return !serves(f.Path) })
	maps.DeleteFunc(w.stamps, func(name string, _ fsx.Stamp) bool { return !serves(name) })
	return w, nil
}

// read adds a file, from what is known of it or from its bytes. A file that is not served is remembered and left out.
func (b *manifestBuilder) read(ctx context.Context, name string, stamp fsx.Stamp) error {
	if b.known != nil {
		if content, ok := b.known.files[name]; ok && content.holds(stamp, b.began) && (name != b.skill.File || b.known.manifest.Digest != pannier.Digest{}) {
			b.files[name] = content
			return nil
		}
	}
	b.moved = true
	content, err := b.readFile(ctx, name, stamp)
	if refused, ok := errors.AsType[*pannier.FileError](err); ok && name != b.skill.File {
		if refused.Fault == pannier.FileMissing {
			return errMoved
		}
		err = nil
	}
	switch {
	case errors.Is(err, pannier.ErrChanged) && digestIn(b.skill, name).IsZero():
		return errMoved
	case err != nil:
		return err
	}
	b.files[name] = content
	return nil
}

// readFile reads a file that has a stamp.
func (b *manifestBuilder) readFile(ctx context.Context, name string, stamp fsx.Stamp) (knownContent, error) {
	b.loader.manifests.reads.Add(1)
	content := knownContent{stamp: stamp, read: time.Now()}
	file, err := b.loader.Open(ctx, b.skill, name)
	if err != nil {
		return content, err
	}
	defer file.Close()
	if opened, err := file.file.stat(); err != nil || opened != stamp {
		return content, errMoved
	}
	if name == b.skill.File {
		var text bytes.Buffer
		if _, err := file.WriteTo(&text); err != nil {
			return content, err
		}
		b.text = text.Bytes()
	}
	content.digest = file.Digest()
	return content, nil
}

// result returns what was read so far, for another try.
func (b *manifestBuilder) result() *knownManifest {
	return &knownManifest{skill: b.skill.Digest, meta: b.skill.MetaFileDigest, files: b.files}
}

// finish returns the manifest.
func (b *manifestBuilder) finish(files []pannier.File, dynamic bool) (*knownManifest, error) {
	k := b.result()
	k.compared = b.began
	k.manifest.Dynamic = dynamic
	if b.text != nil {
		k.manifest.Frontmatter = frontmatterOf(b.text, b.loader.rules.MaxFrontmatterBytes)
	} else {
		k.manifest.Frontmatter = b.known.manifest.Frontmatter
	}
	for _, f := range files {
		content := b.files[f.Path]
		if content.digest.IsZero() {
			continue
		}
		k.manifest.Files = append(k.manifest.Files, pannier.ManifestFile{
			Path: f.Path, Digest: content.digest, Size: content.stamp.Size, Modified: time.Unix(0, content.stamp.MTime),
		})
	}
	k.manifest.Digest = digestOfManifest(&k.manifest)
	return k, nil
}

// frontmatterOf returns the frontmatter of a SKILL.md as hosts read it. One that only a repair can read, or that is stricter
// bounded there, is as the skill was read.
func frontmatterOf(text []byte, limit int64) json.RawMessage {
	if p, _, fault := cut(text, true, limit); fault == nil && p.line > 0 {
		if front, err := yamldoc.JSON(linesToLF(p.front)); err == nil {
			return front
		}
	}
	return document(text, limit).Frontmatter
}

func digestOfManifest(m *pannier.Manifest) pannier.Digest {
	b := append([]byte{}, m.Frontmatter...)
	b = append(b, 0)
	if m.Dynamic {
		b = append(b, 1)
	}
	for _, f := range m.Files {
		b = append(append(b, 0), f.Path...)
		b = append(append(b, 0), f.Digest[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(f.Size))
	}
	return pannier.DigestOf(b)
}

// reportLimits reports that a host of the Model Context Protocol cannot be given a list of the files.
func (in *inspector) reportLimits(served []pannier.File, truncated bool) {
	if truncated || exceedsManifest(served) {
		in.report(pannier.CodeMCPLimits, "", 0,
			fmt.Sprintf("MCP hosts get no list of its files: there are more than %d, more than %d MiB, or some that cannot be listed", pannier.MaxManifestFiles, pannier.MaxManifestBytes>>20),
			"keep what is not part of the skill out of its directory")
	}
}

// manifestCache keeps manifests by the paths of their skills. Its zero value is empty.
type manifestCache struct {
	mu     sync.Mutex
	byPath map[string]*knownManifest
	size   int
	// building has a channel for each skill that is compared, which is closed afterwards.
	building map[string]chan struct{}
	reads    atomic.Int64 // how many files were opened
}

// get returns what is known of a skill of a catalog; nil where that is nothing, or was of other files.
func (c *manifestCache) get(s *pannier.Skill) *knownManifest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.byPath[s.Path]; k != nil && k.skill == s.Digest && k.meta == s.MetaFileDigest {
		return k
	}
	return nil
}

// begin reports whether the caller is the first to compare a skill; it calls end. For others done is closed by then.
func (c *manifestCache) begin(path string) (done chan struct{}, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done, ok := c.building[path]; ok {
		return done, false
	}
	if c.building == nil {
		c.building = map[string]chan struct{}{}
	}
	done = make(chan struct{})
	c.building[path] = done
	return done, true
}

func (c *manifestCache) end(path string, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.building, path)
	close(done)
}

// put keeps what is known of a skill, unless something newer is. To stay within the bound it drops others, whichever come.
func (c *manifestCache) put(path string, k *knownManifest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byPath[path]; old != nil {
		if old.compared.After(k.compared) {
			return
		}
		c.size -= old.cost(path)
	}
	if c.byPath == nil {
		c.byPath = map[string]*knownManifest{}
	}
	c.byPath[path] = k
	c.size += k.cost(path)
	for other, old := range c.byPath {
		if c.size <= maxManifestCache {
			break
		}
		delete(c.byPath, other)
		c.size -= old.cost(other)
	}
}

// cost returns about how many bytes of memory it takes.
func (k *knownManifest) cost(path string) int {
	size := 512 + len(path) + len(k.manifest.Frontmatter)
	for name := range k.files {
		size += 256 + 2*len(name)
	}
	return size
}
