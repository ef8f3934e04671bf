package pannier

// FileFault says why a file of a skill is not served. It is the code of the answer.
type FileFault string

// The faults.
const (
	// FileMissing is a path at which there is nothing.
	FileMissing FileFault = "file_not_found"
	// FileIsDirectory is a path of a directory.
	FileIsDirectory FileFault = "file_is_directory"
	// FileOutside is a path, or a link on it, that leads out of the skill directory.
	FileOutside FileFault = "file_outside"
	// FileSkipped is a path that is, or that links lead to, a file in a directory that discovery skips, or a dot file that is not
	// served ([DiscoveryRules.Serves]).
	FileSkipped FileFault = "file_skipped"
	// FileForeign is a file with several hard links whose owner is not that of the skill directory.
	FileForeign FileFault = "file_foreign"
	// FileSpecial is a FIFO, a socket or a device.
	FileSpecial FileFault = "file_not_regular"
	// FileTooLarge is a file that is larger than what is served.
	FileTooLarge FileFault = "file_too_large"
	// FileUnreadable is a file that pannier may not read.
	FileUnreadable FileFault = "file_unreadable"
)

// FileError says which file of a skill is not served.
type FileError struct {
	Fault FileFault
	// Path is below the skill directory, as it was asked for.
	Path string
}

// Error implements error.
func (e *FileError) Error() string { return e.Path + ": " + string(e.Fault) }
