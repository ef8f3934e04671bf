package watcher_test

import (
	"path/filepath"
	"testing"

	"pannier/watcher"
)

// TestLinkFarFromItsRootIsTurned turns the second link on the way to a root, in a directory that is watched for nothing else.
func TestLinkFarFromItsRootIsTurned(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, far := realDir(t), realDir(t)
		root := filepath.Join(workspace, "skills")
		writer(t, "mkdir "+far+"/v1/one", "mkdir "+far+"/v2/one", "link v1 "+far+"/cur", "link "+far+"/cur "+root)
		l := run(t, mode, rules(workspace, root))
		writer(t, "relink v2 "+far+"/cur")
		l.until("a full batch", func() bool { return l.full })
		l.fence(workspace)
		writer(t, "write "+far+"/v2/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
	})
}
