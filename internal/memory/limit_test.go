package memory

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", nil, 0},
		{"version 2, container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"version 2, no limit", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		{"version 2, smaller limit of a parent", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "300\n", "sys/fs/cgroup/a/memory.max": "200\n",
		}, 200},
		{"version 1, container", map[string]string{
			"proc/self/cgroup": "3:cpuset:/\n4:memory:/docker/x\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "100\n",
		}, 100},
		{"version 1, no limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		{"not a number", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "?"}, 0},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupLimit(root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
