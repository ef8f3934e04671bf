package molecule

import (
	"strconv"
	"strings"
)

// canonical writes a JSON number in one way for each value: its digits without zeros at either end, and the power of ten
// behind them. It does not calculate, because a number like 1e999999999 would fill the memory; an exponent beyond all
// reason leaves the number as it is.
func canonical(number string) string {
	mantissa, exponent := number, 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		n, err := strconv.ParseInt(number[i+1:], 10, 32)
		if err != nil {
			return number
		}
		mantissa, exponent = number[:i], int(n)
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0"
	}
	exponent += len(digits) - len(trimmed)
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + strconv.Itoa(exponent)
}
