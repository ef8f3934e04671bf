package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"pannier"
	"pannier/internal/fsx"
)

// maxLockBytes bounds a lock file. The loader has the same bound.
const maxLockBytes = 4 << 20

// lockText is a lock file. Fields and entries of other tools are preserved.
type lockText struct {
	fields map[string]json.RawMessage
	skills map[string]json.RawMessage
}

// readLock reads the lock file of a root. A missing file or root is an empty lock file.
func readLock(root pannier.Root) (lockText, error) {
	dir, err := fsx.OpenRoot(root.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return lockText{}, nil
	}
	if err != nil {
		return lockText{}, err
	}
	defer dir.Close()
	return (&place{root: root, dir: dir}).lock()
}

func (p *place) lock() (lockText, error) {
	text, err := p.readFile(lockRel, maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return lockText{}, nil
	}
	if err != nil {
		return lockText{}, err
	}
	l := lockText{}
	version := 0
	err = json.Unmarshal(text, &l.fields)
	if err == nil {
		err = errors.Join(json.Unmarshal(l.fields["version"], &version), json.Unmarshal(l.fields["skills"], &l.skills))
	}
	if err != nil || version != 1 {
		return lockText{}, refuse("install.lock", path.Join(p.root.Name, lockRel)+" is invalid, so it is unknown what is installed", "restore the file, or remove it and install the skills again")
	}
	return l, nil
}

// readFile returns the content of a regular file of at most limit bytes.
func (p *place) readFile(rel string, limit int64) ([]byte, error) {
	if err := p.checkRegular(rel); err != nil {
		return nil, err
	}
	text, info, err := fsx.ReadRegularIn(p.dir, rel, limit)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, refuseUnreadable(err)
	case err == nil && int64(len(text)) > limit:
		return nil, refuse("install.own_directory", fmt.Sprintf("%s has %d bytes, more than %d", path.Join(p.root.Path, rel), info.Size(), limit), "restore the file, or remove it and install the skills again")
	}
	return text, err
}

func (l lockText) has(slug string) bool {
	_, ok := l.skills[slug]
	return ok
}

// entry returns the entry of a slug, nil if there is none.
func (l lockText) entry(root pannier.Root, slug string) (*pannier.LockEntry, error) {
	raw, ok := l.skills[slug]
	if !ok {
		return nil, nil
	}
	var e pannier.LockEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, refuse("install.lock", fmt.Sprintf("the entry of %s in %s is invalid", slug, path.Join(root.Name, lockRel)), "remove the entry, or restore the file")
	}
	return &e, nil
}

// with returns the text of the lock file with another entry of a slug, or without one if e is nil.
func (l lockText) with(slug string, e *pannier.LockEntry) ([]byte, error) {
	fields, skills := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, raw := range l.fields {
		fields[name] = raw
	}
	for key, raw := range l.skills {
		if path.Clean(key) != slug {
			skills[key] = raw
		}
	}
	var err error
	if e != nil {
		skills[slug], err = json.Marshal(e)
	}
	list, err2 := json.Marshal(skills)
	fields["version"], fields["skills"] = json.RawMessage("1"), list
	text, err3 := json.MarshalIndent(fields, "", "  ")
	return append(text, '\n'), errors.Join(err, err2, err3)
}
