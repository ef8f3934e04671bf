package repair

import "bytes"

// Fence cuts a text at the first line that begins with `---` and goes on, as `---# Title` does, where the author forgot
// the end of the line. A line of more dashes is one too; a row of a table (`---|---`) is none. rest is what is glued to the
// dashes with all that follows. Lines end in LF, CR LF or CR. It is meant for a text that no fence closes, and for what
// [Parse] says is Glued.
func Fence(text []byte) (front, rest []byte, ok bool) {
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexAny(text[at:], "\r\n"); i >= 0 {
			end = at + i
		}
		next := end
		if next < len(text) {
			next++
		}
		if end+1 < len(text) && text[end] == '\r' && text[end+1] == '\n' {
			next++
		}
		if glued, ok := glue(text[at:end]); ok {
			if len(glued) == 0 {
				return text[:at], text[next:], true
			}
			return text[:at], text[end-len(glued):], true
		}
		at = next
	}
	return nil, nil, false
}

// glue returns what follows the dashes in a line that begins with three. A line of three alone closes without our help.
func glue(line []byte) (glued []byte, ok bool) {
	if !bytes.HasPrefix(line, []byte("---")) {
		return nil, false
	}
	dashes := len(line) - len(bytes.TrimLeft(line, "-"))
	glued = bytes.TrimLeft(line[dashes:], " \t")
	if len(glued) == 0 {
		return nil, dashes > len("---")
	}
	return glued, glued[0] != '|'
}
