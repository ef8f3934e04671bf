package execute

import _ "embed"

// driver imports the one file of a Python function and calls the one function; see driver.py.
//
//go:embed driver.py
var driver []byte
