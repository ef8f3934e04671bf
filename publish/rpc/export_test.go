package rpc

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"pannier"
	"pannier/service"
)

// The bounds of a frame of an upload, in bytes.
const (
	MaxHeader = maxHeader
	MaxPrefix = maxPrefix
)

// ParseHeader reads the header of a frame, ParseSHA256 a digest in it.
var (
	ParseHeader = parseHeader
	ParseSHA256 = parseSHA256
)

// RefusalCodes returns the codes that errors of methods have, each behind its number.
func RefusalCodes() []string {
	codes := map[string]bool{}
	add := func(number int, code string) { codes[fmt.Sprint(number, " ", code)] = true }
	for _, r := range refusals {
		add(r.number, r.code)
	}
	for _, code := range []string{"archive.x", "upload.x", "x"} {
		add(numberOf(pannier.ErrorDocument{Code: code, Status: service.StatusOf(code)}))
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		add(numberOf(pannier.ErrorDocument{Status: status}))
	}
	add(CodeServer, notAvailable)
	add(CodeInternal, internal)
	return slices.Sorted(maps.Keys(codes))
}
