package main

import (
	"fmt"

	"pannier"
	"pannier/publish/api"
)

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
