package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/admin/archive"
)

// FuzzUnpack feeds bytes as a tar_gz, as the tar in one, and as a zip. Whatever they are, there are only files and
// directories within the limits below the target, nothing beside it, and an error is a refusal.
func FuzzUnpack(f *testing.F) {
	for _, test := range refusedTar {
		f.Add(test.packed, uint8(0))
	}
	for _, test := range refusedZip {
		f.Add(test.packed, uint8(2))
	}
	f.Add(goodTar, uint8(0))
	f.Add(goodZip, uint8(2))
	f.Add(append(block("sk/SKILL.md", '0', 4), append(padded("text"), make([]byte, 1024)...)...), uint8(1))
	f.Add(append(block("sk/SKILL.md", '0', 4), append(padded("text"), sparseBlock()...)...), uint8(1))
	f.Add(append(block("x", 'x', len(paxRecord("path", "sk/b"))), append(padded(paxRecord("path", "sk/b")), block("sk/a", '0', 0)...)...), uint8(1))
	limits := archive.Limits{MaxUncompressed: 64 << 10, MaxFile: 32 << 10, MaxEntries: 20}
	f.Fuzz(func(t *testing.T, packed []byte, as uint8) {
		format := pannier.TarGz
		switch as % 3 {
		case 1:
			packed = gzipped(packed)
		case 2:
			format = pannier.Zip
		}
		c, dir, err := unpackTo(t, packed, format, limits)
		if _, refused := errors.AsType[*pannier.Refusal](err); err != nil && !refused {
			t.Errorf("%v is no refusal", err)
		}
		checkTree(t, dir, limits)
		beside, err2 := os.ReadDir(filepath.Dir(dir))
		if err2 != nil || len(beside) != 1 {
			t.Errorf("beside it: %v %v", beside, err2)
		}
		if err != nil {
			return
		}
		if info, err := os.Lstat(dir + "/SKILL.md"); err != nil || !info.Mode().IsRegular() || c.Files == 0 || c.Bytes > limits.MaxUncompressed {
			t.Errorf("%+v without SKILL.md: %v", c, err)
		}
	})
}
