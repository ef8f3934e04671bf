package sidecar

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/internal/fsx"
	"pannier/internal/latest"
	"pannier/loader"
)

const (
	parseCacheFile = "parsed.cache"
	// maxParseCache bounds the file in bytes. More than that is not kept: 10,000 skills have about a tenth.
	maxParseCache = 64 << 20
	// parseCacheEvery is how often the file is written at most, while skills change.
	parseCacheEvery = 5 * time.Minute
)

// parseCache keeps what the loader has parsed for the next process. It may be lost at any time: what it lacks is read
// from the workspace.
type parseCache struct {
	path    string // empty where nothing is kept: the state is in memory, or nothing names the build
	inPlace func() error
	key     string
	log     hclog.Logger
	writer  *latest.Writer[*loader.Parsed]
	written time.Time // when write was last requested; its owner processes batches
}

// parseCacheKey names everything beside the rules of discovery that a parsed skill depends on: the program, and what
// its user may read. The version of a build without version control does not change with its sources; the stat of the
// executable does.
func parseCacheKey(workspaceID string) string {
	build, _ := debug.ReadBuildInfo()
	info, err := os.Stat("/proc/self/exe")
	if build == nil || err != nil {
		return ""
	}
	exe := fsx.StampOf(info)
	return fmt.Sprint(workspaceID, "\n", build, exe.Ino, exe.Size, exe.MTime, exe.CTime, os.Geteuid(), os.Getegid())
}

// read returns the file of the process before, or nil.
func (c *parseCache) read() []byte {
	if c.path == "" {
		return nil
	}
	if st, err := fsx.Lstat(c.path); err != nil || !st.IsRegular() || st.Size > maxParseCache {
		return nil
	}
	content, err := os.ReadFile(c.path)
	if err != nil {
		c.log.Debug("parsed skills not read from the state; all skills are parsed", "error", err)
		return nil
	}
	return content
}

// keep writes what l has parsed, in the background and now and then. last says that the process ends.
func (c *parseCache) keep(l *loader.Loader, last bool) {
	if c.path == "" || !last && time.Since(c.written) < parseCacheEvery {
		return
	}
	if parsed := l.Parsed(); parsed != nil {
		c.written = time.Now()
		c.writer.Put(parsed)
	}
}

func (c *parseCache) write(p *loader.Parsed) {
	content := p.Encode(c.key, maxParseCache)
	if content == nil {
		c.log.Debug("parsed skills not kept, because they are too many", "limit_bytes", maxParseCache)
		return
	}
	err := c.inPlace()
	if err == nil {
		err = fsx.WriteFile(c.path, content, fsx.WriteOptions{Temporary: c.path + ".new", SkipDirSync: true})
	}
	if err != nil {
		c.log.Debug("parsed skills not kept; the next start parses all skills", "error", err)
	}
}
