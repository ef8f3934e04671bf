package pannier

import (
	"strings"
	"time"
)

// UploadStatus says where an upload stands. It is ready once all of it is here and its digest is right, consumed once
// it was installed.
type UploadStatus string

// The statuses.
const (
	UploadReceiving UploadStatus = "receiving"
	UploadReady     UploadStatus = "ready"
	UploadConsumed  UploadStatus = "consumed"
	UploadAborted   UploadStatus = "aborted"
	UploadExpired   UploadStatus = "expired"
)

// UploadStatuses lists every status, for metrics that show each from the start.
func UploadStatuses() []UploadStatus {
	return []UploadStatus{UploadReceiving, UploadReady, UploadConsumed, UploadAborted, UploadExpired}
}

// UploadStart announces an archive (Pioneer skills protocol, "Upload Flow").
type UploadStart struct {
	FileName string
	Format   ArchiveFormat
	// Size is that of the archive, UnpackedHint what its sender thinks that its files come to; 0 is not known.
	Size, UnpackedHint int64
	// SHA256 is that of the archive.
	SHA256 Digest
}

// Upload is a session, in which one archive comes in by chunks.
type Upload struct {
	ID       string        `json:"upload_id"`
	Status   UploadStatus  `json:"status"`
	FileName string        `json:"file_name"`
	Format   ArchiveFormat `json:"archive_format"`
	Size     int64         `json:"compressed_size_bytes"`
	SHA256   Digest        `json:"sha256"`
	// Received is how much of it is on disk, and so where the next chunk begins.
	Received  int64     `json:"received_bytes"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt moves on with every chunk.
	ExpiresAt time.Time `json:"expires_at"`
}

// UploadLimits are what an upload has to keep to, in bytes.
type UploadLimits struct {
	RecommendedChunk, MaxChunk int64
	MaxCompressed, MaxUnpacked int64
	// MaxFile bounds each file of an archive, MaxEntries their number, directories included.
	MaxFile    int64
	MaxEntries int
	// MaxPending bounds the open uploads together, MaxPendingOfClient those of one client.
	MaxPending, MaxPendingOfClient int64
	// TTL is how long a session waits for the next chunk.
	TTL time.Duration
}

// UploadChunk is the header of a chunk (Pioneer skills protocol, "Binary Chunk Frame").
type UploadChunk struct {
	WorkspaceID string
	UploadID    string
	// Offset and Len place the chunk in the archive.
	Offset, Len int64
	// SHA256 is that of the chunk; zero is not given.
	SHA256 Digest
}

// UploadAck acknowledges a chunk: it is on disk.
type UploadAck struct {
	UploadID string `json:"upload_id"`
	Offset   int64  `json:"offset"`
	Len      int64  `json:"len"`
	Received int64  `json:"received_bytes"`
	Next     int64  `json:"next_offset"`
}

// UploadFault refuses a chunk, and says where the upload goes on. It is an error.
type UploadFault struct {
	Refusal
	UploadID string
	Offset   int64
	// Next is where the next chunk has to begin; -1 where there is no such upload.
	Next int64
}

// SanitizeFileName keeps of a name that a caller gives to an archive what is harmless to show and to log: ASCII letters, digits, dots,
// hyphens and underscores, and an underscore for each other character; at most so many bytes. It names no file on this side.
func SanitizeFileName(name string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.TrimSpace(name))
	return clean[:min(len(clean), most)]
}
