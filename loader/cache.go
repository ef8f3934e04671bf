package loader

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// cacheMagic begins an encoded [Parsed]. Its number grows only if the place of the two sums that follow changes: the key
// of the sidecar names the executable, so only the program that wrote the records reads them.
const cacheMagic = "pannier parsed skills 1\n"

// restoredTrust is for how long restored skills are trusted by their stamps alone. Then all files are read, because a
// change while no process ran may have left the stamp as it was.
const restoredTrust = time.Minute

// Parsed is what parsing the files of skills has given, each with stamps that prove it. It is never changed.
type Parsed struct {
	rules pannier.DiscoveryRules
	roots []parsedRoot
}

type parsedRoot struct {
	id     fsx.FileID
	skills []parsedSkill
}

type parsedSkill struct {
	rel, file  string
	stat, meta fsx.Stamp
	skill      *pannier.Skill
}

// Parsed returns what an equal stamp proves after the last load, nil if nothing was parsed since the call before. It is
// for the caller of Load.
func (l *Loader) Parsed() *Parsed {
	if !slices.ContainsFunc(l.trees, func(t *tree) bool { return t.parsed }) {
		return nil
	}
	p := &Parsed{rules: l.rules}
	for _, t := range l.trees {
		t.parsed = false
		root := parsedRoot{id: fsx.FileID{Dev: t.dev, Ino: t.top.ino}}
		if fsx.DirTimesHold(t.root.Path) {
			root.skills = t.appendParsed(nil, t.top)
		}
		p.roots = append(p.roots, root)
	}
	return p
}

func (t *tree) appendParsed(skills []parsedSkill, n *node) []parsedSkill {
	if f := n.record; f != nil && t.isCacheable(f) {
		skills = append(skills, parsedSkill{n.rel, f.file, f.stat, f.meta, f.skill})
	}
	for _, c := range n.list().children {
		skills = t.appendParsed(skills, c)
	}
	return skills
}

// isCacheable reports whether the skill in the catalog follows from the files that the stamps prove. That of a broken
// file may be an earlier one.
func (t *tree) isCacheable(f *skillRecord) bool {
	return f.proven && !f.linked && f.skill != nil && !f.skill.Broken && !f.skill.LastGood &&
		t.identifies(f.stat) && (f.meta == fsx.Stamp{} || t.identifies(f.meta))
}

// identifies reports whether no other file of the root can have an equal stamp, also after a restart. Images of file
// systems can be replaced by others with the same inodes and times; those times are without a fraction of a second.
func (t *tree) identifies(s fsx.Stamp) bool {
	return s.IsRegular() && s.Dev == t.dev && s.CTime%int64(time.Second) != 0
}

// Encode returns the content of a file for [Loader.Restore], nil if it has more than limit bytes. Key is everything
// beside the rules of discovery that parsing depends on.
func (p *Parsed) Encode(key string, limit int) []byte {
	content := append(make([]byte, 0, 1<<20), cacheMagic...)
	content = append(content, make([]byte, 2*sha256.Size)...)
	head := content[len(cacheMagic):]
	copy(head[sha256.Size:], cacheKey(key, p.rules))
	var record []byte
	for _, root := range p.roots {
		content = appendUints(content, root.id.Dev, root.id.Ino, uint64(len(root.skills)))
		for i := range root.skills {
			s := &root.skills[i]
			record = appendText(record[:0], s.file)
			record = appendValue(record, reflect.ValueOf(&s.stat).Elem())
			record = appendValue(record, reflect.ValueOf(&s.meta).Elem())
			record = appendValue(record, reflect.ValueOf(s.skill).Elem())
			content = appendText(appendText(content, s.rel), string(record))
			if len(content) > limit {
				return nil
			}
		}
	}
	sum := sha256.Sum256(content[len(cacheMagic)+sha256.Size:])
	copy(content[len(cacheMagic):], sum[:])
	return content
}

func cacheKey(key string, rules pannier.DiscoveryRules) []byte {
	sum := sha256.Sum256(appendValue(appendText(nil, key), reflect.ValueOf(&rules).Elem()))
	return sum[:]
}

// restored is what an earlier process has parsed of a root, by path below it.
type restored struct {
	root    fsx.FileID
	records map[string][]byte
}

// Restore has the first load take skills from what [Parsed.Encode] returned in an earlier process, where the stamps of
// their files are the same. It ignores what is damaged, or of another format, key, or rules, and keeps content until
// that load has ended.
func (l *Loader) Restore(content []byte, key string) {
	rest, ok := bytes.CutPrefix(content, []byte(cacheMagic))
	if !ok || len(rest) < 2*sha256.Size {
		return
	}
	sum := sha256.Sum256(rest[sha256.Size:])
	if !bytes.Equal(sum[:], rest[:sha256.Size]) || !bytes.Equal(cacheKey(key, l.rules), rest[sha256.Size:2*sha256.Size]) {
		return
	}
	d := decoder{rest: rest[2*sha256.Size:]}
	roots := make([]*restored, len(l.trees))
	for i := range l.trees {
		r := &restored{root: fsx.FileID{Dev: d.uint(), Ino: d.uint()}}
		count := d.uint()
		r.records = make(map[string][]byte, min(count, uint64(len(d.rest))))
		for ; count > 0 && !d.failed; count-- {
			rel := string(d.text())
			r.records[rel] = d.text()
		}
		roots[i] = r
	}
	if d.failed || len(d.rest) > 0 {
		return
	}
	for i, t := range l.trees {
		t.restored = roots[i]
	}
}

// restore returns the skill that an earlier process has parsed from files with these stamps, or nil.
func (r *reader) restore(n *node, st, metaStat fsx.Stamp) *pannier.Skill {
	t, f := r.scan.tree, n.record
	if t.restored == nil || f.skill != nil {
		return nil
	}
	record, ok := t.restored.records[n.rel]
	d := decoder{rest: record, texts: r.texts}
	if !ok || string(d.text()) != f.file {
		return nil
	}
	known := skillRecord{file: f.file, linked: f.linked, skill: r.blank(n, f.file)}
	place := *known.skill
	d.value(reflect.ValueOf(&known.stat).Elem())
	d.value(reflect.ValueOf(&known.meta).Elem())
	known.proven = known.stat == st && known.meta == metaStat && isProof(st, r.scan.now) && isProof(metaStat, r.scan.now)
	if !t.isCacheable(&known) {
		return nil
	}
	d.value(reflect.ValueOf(known.skill).Elem())
	if d.failed || len(d.rest) > 0 {
		return nil
	}
	s := known.skill
	s.Path, s.Root, s.SourceKind, s.RootIndex = place.Path, place.Root, place.SourceKind, place.RootIndex
	s.PathBelowRoot, s.Folder, s.File = place.PathBelowRoot, place.Folder, place.File
	r.room.pack(s)
	return s
}

func appendUints(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendValue appends an addressable value of any type that [decoder.value] knows.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
	case reflect.String:
		b = appendText(b, v.String())
	case reflect.Array:
		b = append(b, v.Bytes()...)
	case reflect.Bool:
		b = append(b, 0)
		if v.Bool() {
			b[len(b)-1] = 1
		}
	case reflect.Int, reflect.Int64:
		b = binary.AppendUvarint(b, uint64(v.Int()))
	default:
		b = binary.AppendUvarint(b, v.Uint())
	}
	return b
}

// decoder reads what appendValue has written. After a failure it returns zero values.
type decoder struct {
	rest   []byte
	failed bool
	texts  map[string]string // those of problems, of which many skills have the same
}

func (d *decoder) uint() uint64 {
	v, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.rest, d.failed = nil, true
		return 0
	}
	d.rest = d.rest[size:]
	return v
}

func (d *decoder) bytes(size uint64) []byte {
	if size > uint64(len(d.rest)) {
		d.rest, d.failed = nil, true
		return nil
	}
	b := d.rest[:size:size]
	d.rest = d.rest[size:]
	return b
}

func (d *decoder) text() []byte { return d.bytes(d.uint()) }

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.Slice:
		size := d.uint()
		if size == 0 {
			return
		}
		if size-1 > uint64(len(d.rest)) {
			d.rest, d.failed = nil, true
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), int(size-1), int(size-1)))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.String:
		v.SetString(d.shared(d.text()))
	case reflect.Array:
		copy(v.Bytes(), d.bytes(uint64(v.Len())))
	case reflect.Bool:
		v.SetBool(d.uint() == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(d.uint()))
	default:
		v.SetUint(d.uint())
	}
}

// shared returns a text that equal ones share. Long ones are rarely equal.
func (d *decoder) shared(text []byte) string {
	const long = 256
	if len(text) > long || d.texts == nil {
		return string(text)
	}
	known, ok := d.texts[string(text)]
	if !ok {
		known = string(text)
		d.texts[known] = known
	}
	return known
}
