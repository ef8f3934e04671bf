package audit

// File is what a log writes to.
type File = file

// OpenWith opens a log that creates its files by create.
func OpenWith(o Options, create func(path string) (File, error)) (*Log, error) {
	o.create = create
	return Open(o)
}

// CreateFile creates files as the product does.
var CreateFile = createFile

// MaxLine is the bound on a line.
const MaxLine = maxLine
