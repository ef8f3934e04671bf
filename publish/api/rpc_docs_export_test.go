package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"pannier/publish/api/rpc"
)

// Methods are those of JSON-RPC.
func (h *Handler) Methods() []string { return slices.Sorted(maps.Keys(h.calls.Methods)) }

// RPCCodes returns the codes that errors of methods have, each behind its number.
func RPCCodes() []string {
	codes := map[string]bool{}
	add := func(number int, code string) { codes[fmt.Sprint(number, " ", code)] = true }
	for _, class := range refusals {
		add(class.number, class.code)
	}
	for _, code := range []string{"archive.x", "upload.x", "x"} {
		class := classOf(code)
		add(class.number, class.code)
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		add(rpcNumber(status))
	}
	add(rpc.CodeServer, rpcNotAvailable)
	add(rpc.CodeInternal, rpcInternal)
	return slices.Sorted(maps.Keys(codes))
}
