package pannier

import (
	"encoding/json"
	"time"
)

// CardStatus is what the platforms hold, in the order of the settings.
type CardStatus struct {
	Platforms []PlatformCard `json:"platforms"`
}

// PlatformCard is what one platform is to hold, and what it holds.
type PlatformCard struct {
	Platform string `json:"platform"`
	// Wanted is the newest card; null before the first. Has is the card that the platform showed at ReadAt; null where that is
	// not known, and Reason says why.
	Wanted json.RawMessage `json:"wanted"`
	Has    json.RawMessage `json:"has"`
	Reason string          `json:"reason,omitempty"`
	ReadAt time.Time       `json:"read_at,omitzero"`
	// Pushes are the last ones since the sidecar started, newest first.
	Pushes []PushAttempt `json:"pushes"`
}

// PushAttempt is an attempt to push a card.
type PushAttempt struct {
	At time.Time `json:"at"`
	// Outcome is "pushed", or why it failed in one word, as metrics have it; Error says it in a sentence.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	MS      int64  `json:"ms"`
	// Version is that of the snapshot of the card.
	Version uint64 `json:"version,omitempty"`
}

// AuditCheck says whether the audit log is what was written.
type AuditCheck struct {
	OK bool `json:"ok"`
	// Broken says that the log is not what was written. Where neither it nor OK is set, the log could not be verified.
	Broken bool `json:"broken,omitempty"`
	// Directory is where the log is; empty where it is kept in memory.
	Directory string `json:"directory,omitempty"`
	// Entries counts those that are linked. Seq and Head are the number and the digest of the newest of them.
	Entries int    `json:"entries"`
	Seq     uint64 `json:"seq,omitempty"`
	Head    string `json:"head"`
	// RecordedBreaks counts the entries that record that the log was found broken before.
	RecordedBreaks int `json:"recorded_breaks,omitempty"`
	// Headless says that the log has no head file, so that removed newest entries cannot be detected.
	Headless bool   `json:"headless,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Stats is what happened within the last hour, since the sidecar started.
type Stats struct {
	// Minutes are ordered by time, each once, also those in which nothing happened.
	Minutes []StatsMinute `json:"minutes"`
	Totals  StatsCounts   `json:"totals"`
}

// StatsMinute is what happened in the minute that begins at a time.
type StatsMinute struct {
	At time.Time `json:"at"`
	StatsCounts
}

// StatsCounts count what happened. Times are in milliseconds, absent without reloads.
type StatsCounts struct {
	Reloads     int     `json:"reloads"`
	ReloadP50MS float64 `json:"reload_p50_ms,omitempty"`
	ReloadP99MS float64 `json:"reload_p99_ms,omitempty"`
	Pushes      int     `json:"pushes"`
	PushErrors  int     `json:"push_errors"`
	// Installs counts installed and replaced skills, Refusals those that were refused, without dry runs.
	Installs int `json:"installs"`
	Refusals int `json:"refusals"`
}
