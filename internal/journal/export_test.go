package journal

// File is what a journal writes to.
type File = file

// OpenWith opens a journal that creates its segments by create.
func OpenWith(o Options, create func(path string) (File, error)) (*Journal, error) {
	o.create = create
	return Open(o)
}

// CreateFile creates segments as the product does.
var CreateFile = createFile

// MaxLine is the bound on the line of an event.
const MaxLine = maxLine
