package main

import "pannier/internal/plain"

// minLastColumn is how many cells the last column of a table has at least, however narrow the terminal is.
const minLastColumn = 20

// fit cuts the last column of a table at the edge of the terminal. Where the output is not a terminal, it cuts nothing.
func (s streams) fit(rows [][]string) { fitWidth(rows, columns(s.out)) }

// shorten cuts a text at so many characters if the output is a terminal.
func (s streams) shorten(text string, length int) string {
	if !s.outTerminal {
		return text
	}
	return plain.Shorten(text, length)
}

// fitWidth cuts the last column so that rows have at most width cells; 0 means no limit. The first row has all columns.
func fitWidth(rows [][]string, width int) {
	if width == 0 {
		return
	}
	last, used := len(rows[0])-1, 0
	for column := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, plain.Cells(plain.Text(row[column])))
		}
		used += widest + columnGap
	}
	for _, row := range rows {
		row[last] = cutCells(plain.Text(row[last]), max(width-used, minLastColumn))
	}
}

// cutCells cuts a text to so many cells of a terminal, and marks the cut.
func cutCells(text string, width int) string {
	if plain.Cells(text) <= width {
		return text
	}
	used := 1 // of the mark
	for i, r := range text {
		if used += plain.Cells(string(r)); used > width {
			return text[:i] + "…"
		}
	}
	return text
}
