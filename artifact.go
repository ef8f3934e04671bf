package pannier

import (
	"path"
	"strings"
	"time"
)

// Artifact is a file that the program of a call left in its directory for artifacts.
type Artifact struct {
	Name      string `json:"name"` // its path below that directory, with slashes; see [IsArtifactName]
	Bytes     int64  `json:"bytes"`
	Digest    Digest `json:"digest"`
	MediaType string `json:"media_type"`
}

// The bounds of artifacts: of a call, and how long they are kept.
const (
	MaxArtifacts     = 64
	MaxArtifactBytes = 64 << 20 // all of a call
	MaxArtifactAge   = time.Hour
	// MaxArtifactPart bounds what is read of an artifact at a time.
	MaxArtifactPart = 256 << 10

	maxArtifactName = 512
)

// The keys of [ToolResult].ArtifactsLeftOut: why a file is not an artifact.
const (
	ArtifactTooMany    = "too_many"
	ArtifactTooLarge   = "too_large"
	ArtifactLink       = "link" // symbolic, or another name of a file
	ArtifactSpecial    = "special"
	ArtifactHidden     = "hidden" // a name that begins with a dot
	ArtifactName       = "name"
	ArtifactUnreadable = "unreadable"
)

// ArtifactReasons returns the reasons why a file is not an artifact.
func ArtifactReasons() []string {
	return []string{ArtifactTooMany, ArtifactTooLarge, ArtifactLink, ArtifactSpecial, ArtifactHidden, ArtifactName, ArtifactUnreadable}
}

// IsArtifactName reports whether an artifact can have a name: a local path of at most 512 bytes, without control characters and
// without parts that begin with a dot.
func IsArtifactName(name string) bool {
	return name != "" && len(name) <= maxArtifactName && path.Clean("/"+name) == "/"+name && CleanLine(name) == name &&
		!strings.HasPrefix(name, ".") && !strings.Contains(name, "/.") && !strings.Contains(name, `\`)
}

// mediaTypes are by the ending of a name.
var mediaTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".html": "text/html", ".css": "text/css", ".csv": "text/csv",
	".xml": "application/xml", ".js": "text/javascript", ".json": "application/json",
	".yaml": "application/yaml", ".yml": "application/yaml", ".pdf": "application/pdf",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".ttf": "font/ttf", ".woff2": "font/woff2",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".zip":  "application/zip", ".gz": "application/gzip",
	".bin": "application/octet-stream", ".so": "application/octet-stream", ".pyc": "application/octet-stream",
}

// MediaType returns the media type of a file by the ending of its name; empty if it is not known.
func MediaType(name string) string { return mediaTypes[strings.ToLower(path.Ext(name))] }
