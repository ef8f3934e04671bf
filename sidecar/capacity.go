package sidecar

import (
	"fmt"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/publish/api"
)

// minDescriptors is how many files the process must be allowed to open: what an idle sidecar has open, and a few callers.
const minDescriptors = 64

// checkDescriptors refuses a process that could not answer once it is ready.
func checkDescriptors() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur >= minDescriptors {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("the process may open %d files, and the sidecar needs at least %d", files.Cur, minDescriptors),
		Hint:    "raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=)",
	}
}

// capacityConditions tell that the socket takes fewer callers than it would, because the process may open few files only.
func capacityConditions(now api.Capacity) []pannier.Condition {
	full := api.FullCapacity()
	if now.Connections >= full.Connections {
		return nil
	}
	return []pannier.Condition{{
		Code: "few_descriptors", Severity: pannier.SeverityInfo, Subject: "RLIMIT_NOFILE",
		Message: fmt.Sprintf("the process may open few files, so the socket takes %d callers at a time, of which %d can follow the events and %d use a WebSocket, in the place of %d, %d and %d",
			now.Connections, now.Streams, now.WebSockets, full.Connections, full.Streams, full.WebSockets),
		Hint: fmt.Sprintf("raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=) to %d where so many callers come", 2*full.Connections),
	}}
}
