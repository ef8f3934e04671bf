package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

type frame struct {
	calls []call
	batch bool
	// fault is set where there is nothing but it to answer.
	fault *Error
}

type call struct {
	// id is as it was sent; nil where there is none.
	id     json.RawMessage
	method string
	params json.RawMessage // nil where there are none
	// fault is what is wrong with the call itself.
	fault *Error
	// wantsAnswer is set where the call is to be answered.
	wantsAnswer bool
}

func (c call) notification() bool { return !c.wantsAnswer }

// refuse appends an error to dst, as the answer to a call; nil where it asks for none.
func (c call) refuse(e *Error, dst []byte) []byte {
	if c.notification() {
		return nil
	}
	return appendError(dst, c.id, e)
}

// answer appends the answers to all calls of a frame to dst, which is empty, and returns nil where there are none.
// one appends that to one call to what it is given, or returns nil.
func (f frame) answer(dst []byte, one func(c call, dst []byte) []byte) []byte {
	switch {
	case f.fault != nil:
		return appendError(dst, nil, f.fault)
	case !f.batch:
		return one(f.calls[0], dst)
	}
	answers := dst
	for _, c := range f.calls {
		if with := one(c, append(answers, ',')); with != nil {
			answers = with
		}
	}
	if len(answers) == 0 {
		return nil
	}
	answers[0] = '['
	return append(answers, ']')
}

// decode reads a text strictly.
func decode(text []byte) frame {
	if !utf8.Valid(text) {
		return frame{fault: newError(CodeParse, "rpc.parse_error", "the text is not UTF-8")}
	}
	var value json.RawMessage
	if err := json.Unmarshal(text, &value); err != nil {
		return frame{fault: newError(CodeParse, "rpc.parse_error", "the text is not one JSON value: "+err.Error())}
	}
	if value[0] != '[' {
		return frame{calls: []call{decodeCall(value)}}
	}
	var values []json.RawMessage
	_ = json.Unmarshal(value, &values) // it is an array
	switch {
	case len(values) == 0:
		return frame{fault: invalidRequest("a batch has at least one call")}
	case len(values) > MaxBatch:
		return frame{fault: invalidRequest(fmt.Sprintf("a batch has at most %d calls", MaxBatch))}
	}
	f := frame{batch: true}
	for _, value := range values {
		f.calls = append(f.calls, decodeCall(value))
	}
	return f
}

// decodeCall reads one call. An invalid call is answered even without an id: it need not have been meant as a
// notification.
func decodeCall(value json.RawMessage) call {
	members, err := readObject(value)
	if err != nil {
		return call{wantsAnswer: true, fault: invalidRequest("a call is " + err.Error())}
	}
	var c call
	id, hasID := members["id"]
	if hasID && isID(id) {
		c.id = id
	}
	c.fault = c.read(members)
	c.wantsAnswer = hasID || c.fault != nil
	return c
}

func (c *call) read(members map[string]json.RawMessage) *Error {
	if string(members["jsonrpc"]) != `"2.0"` {
		return invalidRequest(`jsonrpc is not "2.0"`)
	}
	known := 2 // with method
	if id, ok := members["id"]; ok {
		known++
		if !isID(id) {
			return invalidRequest("id is not a string, a number or null")
		}
	}
	if method := members["method"]; len(method) == 0 || method[0] != '"' || json.Unmarshal(method, &c.method) != nil {
		return invalidRequest("method is not a string")
	}
	if params, ok := members["params"]; ok {
		known++
		switch params[0] {
		case '{', '[':
			c.params = params
		case 'n': // null is none
		default:
			return invalidRequest("params are neither an object nor an array")
		}
	}
	if len(members) > known {
		return invalidRequest("a call has jsonrpc, id, method and params, and nothing else")
	}
	return nil
}

// isID reports whether a value may be an id: a string, a number or null. It is given back as it came.
func isID(value json.RawMessage) bool {
	first := value[0]
	return first == '"' || first == '-' || '0' <= first && first <= '9' || first == 'n'
}

// readObject returns the members of a JSON object, and refuses one that has a member twice: which of the two counts
// would depend on who reads it.
func readObject(value json.RawMessage) (map[string]json.RawMessage, error) {
	if value[0] != '{' {
		return nil, errors.New("an object, and this is none")
	}
	members := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(value))
	_, err := dec.Token()
	for err == nil && dec.More() {
		var name json.Token
		if name, err = dec.Token(); err != nil {
			break
		}
		key, _ := name.(string)
		if _, ok := members[key]; ok {
			return nil, fmt.Errorf("an object, and this one has %.40q twice", key)
		}
		var member json.RawMessage
		err = dec.Decode(&member)
		members[key] = member
	}
	return members, err
}

// Params reads the parameters of a call strictly into a struct: an object, no member that the struct has not, letter by
// letter, and none twice. No parameters are an empty object.
func Params(params json.RawMessage, into any) error {
	if params == nil {
		return nil
	}
	members, err := readObject(params)
	if err != nil {
		return malformedParams("params are " + err.Error())
	}
	for name := range members {
		if !isName(name) { // encoding/json ignores case
			return malformedParams(fmt.Sprintf("unknown parameter %.40q", name))
		}
	}
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return malformedParams(trimJSON(err))
	}
	return nil
}

func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}
