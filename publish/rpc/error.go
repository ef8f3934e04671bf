package rpc

import (
	"encoding/json"
	"slices"
	"strings"

	"pannier"
	"pannier/publish/answer"
)

// The numbers of errors (JSON-RPC 2.0, 5.1).
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	// CodeServer is for what the server cannot do at the moment.
	CodeServer = -32000
)

// Error is an answer that is an error.
type Error struct {
	Code int `json:"code"`
	// Message is the code of Data, and what is wrong.
	Message string `json:"message"`
	Data    Data   `json:"data"`
}

// Data is what programs switch on.
type Data struct {
	// Code is stable and dotted.
	Code    string  `json:"code"`
	Details Details `json:"details"`
}

// Details say more of an error.
type Details struct {
	// Error is what is wrong in words, Hint what to do about it.
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	// Code is the code that the HTTP routes have for it.
	Code string `json:"code,omitempty"`
	// Candidates are what an ambiguous name can mean.
	Candidates []string `json:"candidates,omitempty"`
	// Conflict is the skill that is in the way of an installation, Findings what a security scan blocks it for.
	Conflict *pannier.InstallConflict `json:"conflict,omitempty"`
	Findings []pannier.Finding        `json:"findings,omitempty"`
	// Reasons are what the skill of an installation lacks.
	Reasons []pannier.Reason `json:"reasons,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// NewError returns an error.
func NewError(number int, code string, details Details) *Error {
	details.Error = strings.ReplaceAll(details.Error, "\n", "; ")
	return &Error{Code: number, Message: code + ": " + details.Error, Data: Data{Code: code, Details: details}}
}

func newError(number int, code, text string) *Error {
	return NewError(number, code, Details{Error: text})
}

func invalidRequest(text string) *Error {
	return newError(CodeInvalidRequest, "rpc.invalid_request", text)
}

func malformedParams(text string) *Error {
	return newError(CodeInvalidParams, "rpc.invalid_params", text)
}

// trimJSON returns what encoding/json says, without its name and those of Go's types.
func trimJSON(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok {
		field := slices.DeleteFunc(strings.Split(e.Field, "."), func(part string) bool { return !isName(part) })
		return strings.Join(field, ".") + " cannot be a JSON " + e.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

const version = `{"jsonrpc":"2.0",`

// appendError appends an answer that is an error. An id that is not known is null.
func appendError(dst []byte, id json.RawMessage, e *Error) []byte {
	text, _ := answer.Encode(e) // strings and a number
	return append(append(append(appendID(dst, id), `"error":`...), text...), '}')
}

func appendID(dst []byte, id json.RawMessage) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return append(append(append(append(dst, version...), `"id":`...), id...), ',')
}

func (n Notification) text() ([]byte, error) {
	return answer.Encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", n.Method, n.Params})
}
