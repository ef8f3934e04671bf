package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// nullID is the id of an answer to a request without one.
var nullID = json.RawMessage("null")

// checkMessage returns the id of the one message that a body has, null where there is none, and why it is not answered,
// if so. The SDK reads only the first document of a body, takes numbers as 64-bit integers, and holds all answers to a
// batch at once.
func checkMessage(body []byte) (id json.RawMessage, refused *jsonrpc.Error) {
	refuse := func(code int64, why string) (json.RawMessage, *jsonrpc.Error) {
		return nullID, &jsonrpc.Error{Code: code, Message: why}
	}
	if len(body) == 0 { // the SDK tells
		return nullID, nil
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return refuse(jsonrpc.CodeInvalidRequest, "batches are not supported: send one message in each request")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	err := dec.Decode(&call)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err != nil && !mistyped:
		return refuse(jsonrpc.CodeParseError, "the body is not JSON: "+err.Error())
	case len(bytes.TrimSpace(body[dec.InputOffset():])) > 0:
		return refuse(jsonrpc.CodeParseError, "the body has more than one JSON document: send one message in each request")
	case mistyped:
		return refuse(jsonrpc.CodeInvalidRequest, "the message is not a JSON object")
	case len(call.ID) == 0:
		return nullID, nil
	}
	return checkID(call.ID)
}

// maxIntegerID is the largest integer that all parsers of JSON keep.
const maxIntegerID = 1<<53 - 1

// checkID returns the id that the answer to a message has, and an error unless it is text or an integer.
func checkID(id json.RawMessage) (json.RawMessage, *jsonrpc.Error) {
	if id[0] == '"' {
		return id, nil
	}
	refused := &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: "invalid id: use a text, or an integer between -(2^53-1) and 2^53-1",
	}
	if id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nullID, refused
	}
	number, err := strconv.ParseFloat(string(id), 64)
	if err == nil && number == math.Trunc(number) && math.Abs(number) <= maxIntegerID {
		return id, nil
	}
	return id, refused
}
