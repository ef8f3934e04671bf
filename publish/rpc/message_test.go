package rpc_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pannier/publish/rpc"
)

// fault is an answer that is an error of this package.
func fault(id string, number int, code, text string) string {
	message, _ := json.Marshal(code + ": " + text)
	said, _ := json.Marshal(text)
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + strconv.Itoa(number) + `,"message":` + string(message) +
		`,"data":{"code":"` + code + `","details":{"error":` + string(said) + `}}}}`
}

func invalid(id, text string) string { return fault(id, -32600, "rpc.invalid_request", text) }

func parse(text string) string { return fault("null", -32700, "rpc.parse_error", text) }

func params(id, text string) string { return fault(id, -32602, "rpc.invalid_params", text) }

func unknown(id, method string) string {
	return fault(id, -32601, "rpc.method_not_found", "unknown method "+strconv.Quote(method))
}

// TestAnswers has the exact answer to every sort of text, sound or not. The sections named are those of the
// specification.
func TestAnswers(t *testing.T) {
	const nothing = "a call has jsonrpc, id, method and params, and nothing else"
	s := rpc.New(options(nil))
	for _, tt := range []struct{ name, text, want string }{
		{"named parameters", `{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":2,"b":40}}`, `{"jsonrpc":"2.0","id":1,"result":42}`},
		{"no parameters", `{"jsonrpc":"2.0","id":"a","method":"add"}`, `{"jsonrpc":"2.0","id":"a","result":0}`},
		{"null is no parameters", `{"jsonrpc":"2.0","id":"a","method":"add","params":null}`, `{"jsonrpc":"2.0","id":"a","result":0}`},
		{"blanks around it", " \r\n\t{\"jsonrpc\" : \"2.0\", \"id\" : 1 , \"method\":\"add\"}\n", `{"jsonrpc":"2.0","id":1,"result":0}`},
		{"an array of parameters is handed on", `{"jsonrpc":"2.0","id":1,"method":"echo","params":[1,{"a":"<&>"}]}`, `{"jsonrpc":"2.0","id":1,"result":[1,{"a":"<&>"}]}`},

		{"an id comes back as it came", `{"jsonrpc":"2.0","id":1.50e+2,"method":"add"}`, `{"jsonrpc":"2.0","id":1.50e+2,"result":0}`},
		{"a large number", `{"jsonrpc":"2.0","id":-12345678901234567890123,"method":"add"}`, `{"jsonrpc":"2.0","id":-12345678901234567890123,"result":0}`},
		{"an empty string", `{"jsonrpc":"2.0","id":"","method":"add"}`, `{"jsonrpc":"2.0","id":"","result":0}`},
		{"21 characters", `{"jsonrpc":"2.0","id":"aaaaaaaaaaaaaaaaaaaaa","method":"add"}`, `{"jsonrpc":"2.0","id":"aaaaaaaaaaaaaaaaaaaaa","result":0}`},
		{"an escape", `{"jsonrpc":"2.0","id":"\u00e4\"","method":"add"}`, `{"jsonrpc":"2.0","id":"\u00e4\"","result":0}`},
		{"null is an id", `{"jsonrpc":"2.0","id":null,"method":"add"}`, `{"jsonrpc":"2.0","id":null,"result":0}`},
		{"the id of an unknown method", `{"jsonrpc":"2.0","id":null,"method":"foobar"}`, unknown("null", "foobar")},
		{"true is no id", `{"jsonrpc":"2.0","id":true,"method":"add"}`, invalid("null", "id is not a string, a number or null")},
		{"an object is no id", `{"jsonrpc":"2.0","id":{},"method":"add"}`, invalid("null", "id is not a string, a number or null")},
		{"a list is no id", `{"jsonrpc":"2.0","id":[1],"method":"add"}`, invalid("null", "id is not a string, a number or null")},

		{"a notification", `{"jsonrpc":"2.0","method":"add","params":{"a":1}}`, ""},
		{"one of no method", `{"jsonrpc":"2.0","method":"foobar"}`, ""},
		{"one that fails", `{"jsonrpc":"2.0","method":"fail"}`, ""},
		{"one that is no call", `{"jsonrpc":"2.0","method":1,"params":"bar"}`, invalid("null", "method is not a string")},

		{"nothing", ``, parse("the text is not one JSON value: unexpected end of JSON input")},
		{"blanks", "  \n", parse("the text is not one JSON value: unexpected end of JSON input")},
		{"half a value", `{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]`, parse("the text is not one JSON value: invalid character 'p' after object key:value pair")},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"add"}{"jsonrpc":"2.0","id":2,"method":"add"}`, parse("the text is not one JSON value: invalid character '{' after top-level value")},
		{"two lines", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\"}\n1", parse("the text is not one JSON value: invalid character '1' after top-level value")},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"add\"}", parse("the text is not UTF-8")},
		{"a byte order mark", "\ufeff{}", parse("the text is not one JSON value: invalid character 'ï' looking for beginning of value")},
		{"deeper than deep", strings.Repeat("[", 10001) + strings.Repeat("]", 10001), parse("the text is not one JSON value: invalid character '[' exceeded max depth")},
		{"a string", `"hello"`, invalid("null", "a call is an object, and this is none")},
		{"a number", `1`, invalid("null", "a call is an object, and this is none")},
		{"null", `null`, invalid("null", "a call is an object, and this is none")},
		{"an empty object", `{}`, invalid("null", `jsonrpc is not "2.0"`)},
		{"an older version", `{"id":1,"method":"add","params":{}}`, invalid("1", `jsonrpc is not "2.0"`)},
		{"the version as a number", `{"jsonrpc":2.0,"id":1,"method":"add"}`, invalid("1", `jsonrpc is not "2.0"`)},
		{"no method", `{"jsonrpc":"2.0","id":"x"}`, invalid(`"x"`, "method is not a string")},
		{"null as a method", `{"jsonrpc":"2.0","id":"x","method":null}`, invalid(`"x"`, "method is not a string")},
		{"parameters in a string", `{"jsonrpc":"2.0","id":1,"method":"add","params":"a=1"}`, invalid("1", "params are neither an object nor an array")},
		{"false as parameters", `{"jsonrpc":"2.0","id":1,"method":"add","params":false}`, invalid("1", "params are neither an object nor an array")},
		{"a member too many", `{"jsonrpc":"2.0","id":1,"method":"add","auth":"x"}`, invalid("1", nothing)},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":0}`, invalid("1", "method is not a string")},
		{"an id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"add"}`, invalid("null", `a call is an object, and this one has "id" twice`)},
		{"a method twice, once in disguise", `{"jsonrpc":"2.0","id":1,"method":"add","\u006dethod":"fail"}`, invalid("null", `a call is an object, and this one has "method" twice`)},
		{"capitals", `{"JSONRPC":"2.0","ID":1,"METHOD":"add"}`, invalid("null", `jsonrpc is not "2.0"`)},

		{"a parameter that is none", `{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"c":2}}`, params("1", `unknown field "c"`)},
		{"capitals in one", `{"jsonrpc":"2.0","id":1,"method":"add","params":{"A":1}}`, params("1", `unknown parameter "A"`)},
		{"one twice", `{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"a":2}}`, params("1", `params are an object, and this one has "a" twice`)},
		{"one of another kind", `{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":"1"}}`, params("1", "a cannot be a JSON string")},
		{"by position", `{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}`, params("1", "params are an object, and this is none")},
		{"no method", `{"jsonrpc":"2.0","id":1,"method":"skills/upload/start"}`, unknown("1", "skills/upload/start")},
		{"a reserved method", `{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}`, unknown("1", "rpc.discover")},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, unknown("1", "")},
		{"a failure", `{"jsonrpc":"2.0","id":1,"method":"fail"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"test: it failed","data":{"code":"test","details":{"error":"it failed","hint":"hint"}}}}`},
		{"a panic", `{"jsonrpc":"2.0","id":1,"method":"panic"}`, fault("1", -32603, "rpc.internal_error", "the call failed; the sidecar's log says more")},
		{"a result that is no JSON", `{"jsonrpc":"2.0","id":1,"method":"odd"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"test: encode result: json: unsupported type: func()","data":{"code":"test","details":{"error":"encode result: json: unsupported type: func()","hint":"hint"}}}}`},

		{"an empty batch (7)", `[]`, invalid("null", "a batch has at least one call")},
		{"a batch that is none (7)", `[1]`, "[" + invalid("null", "a call is an object, and this is none") + "]"},
		{"a batch of nothing sound (7)", `[1,2,3]`, "[" + strings.Join([]string{invalid("null", "a call is an object, and this is none"), invalid("null", "a call is an object, and this is none"), invalid("null", "a call is an object, and this is none")}, ",") + "]"},
		{"a batch of half a value (7)", `[{"jsonrpc":"2.0","method":"add","id":"1"},{"jsonrpc":"2.0","method"]`, parse("the text is not one JSON value: invalid character ']' after object key")},
		{"a batch of notifications (7)", `[{"jsonrpc":"2.0","method":"add"},{"jsonrpc":"2.0","method":"fail"}]`, ""},
		{"a batch in a batch", `[[]]`, "[" + invalid("null", "a call is an object, and this is none") + "]"},
		{
			"a batch of all sorts (7)",
			`[{"jsonrpc":"2.0","method":"add","params":{"a":1},"id":"1"},{"jsonrpc":"2.0","method":"add"},{"foo":"boo"},{"jsonrpc":"2.0","method":"foo.get","params":{},"id":"5"},{"jsonrpc":"2.0","method":"add","id":9}]`,
			`[{"jsonrpc":"2.0","id":"1","result":1},` + invalid("null", `jsonrpc is not "2.0"`) + "," + unknown(`"5"`, "foo.get") + `,{"jsonrpc":"2.0","id":9,"result":0}]`,
		},
		{"an id twice in a batch", `[{"jsonrpc":"2.0","method":"add","id":1},{"jsonrpc":"2.0","method":"fail","params":{},"id":null},{"jsonrpc":"2.0","method":"add","params":{"b":2},"id":1}]`, `[{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"test: it failed","data":{"code":"test","details":{"error":"it failed","hint":"hint"}}}},{"jsonrpc":"2.0","id":1,"result":2}]`},
		{"the largest batch", "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"add"},`, 99) + `{"jsonrpc":"2.0","method":"add","id":1}]`, `[{"jsonrpc":"2.0","id":1,"result":0}]`},
		{"a larger one", "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"add"},`, 100) + `1]`, invalid("null", "a batch has at most 100 calls")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := post(s, tt.text); got != tt.want {
				t.Errorf("%.1000s\ngot  %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

// TestBatchAnswersAreBounded: what comes after too many bytes is refused, and what came before is answered.
func TestBatchAnswersAreBounded(t *testing.T) {
	o := options(nil)
	large, _ := json.Marshal(strings.Repeat("x", rpc.MaxAnswer))
	echo := o.Methods["echo"]
	echo.Answer = answerWith(large)
	o.Methods["echo"] = echo
	got := post(rpc.New(o), `[{"jsonrpc":"2.0","method":"echo","id":1},{"jsonrpc":"2.0","method":"echo","id":2},{"jsonrpc":"2.0","method":"echo"}]`)
	if want := "," + fault("2", -32000, "rpc.answer_too_large", "the answers to this batch have more than 16777216 bytes") + "]"; !strings.HasSuffix(got, want) || len(got) != len(large)+len(`[{"jsonrpc":"2.0","id":1,"result":}`)+len(want) {
		t.Errorf("%d bytes, the last of them %s", len(got), got[len(got)-min(len(got), 300):])
	}
}

// FuzzAnswer: whatever is sent, there is no panic, and what is answered is JSON-RPC.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":2,"b":40}}`, `[{"jsonrpc":"2.0","method":"add","id":"1"},{"foo":"boo"},1,[]]`,
		`{"jsonrpc":"2.0","id":1.5e3,"method":"echo","params":[{"a":{}}]}`, `{"jsonrpc":"2.0","method":"fail"}`, "\xff", `[]`, `{"id":null}`, ``, ` [ 1 ] `,
	} {
		f.Add([]byte(seed))
	}
	s := rpc.New(options(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("wait")) {
			t.Skip("this method waits for the test to let it go")
		}
		answer := post(s, string(text))
		if answer == "" {
			return
		}
		if answer != post(s, string(text)) {
			t.Errorf("%q has two answers", text)
		}
		answers := []json.RawMessage{json.RawMessage(answer)}
		if answer[0] == '[' {
			if err := json.Unmarshal([]byte(answer), &answers); err != nil || len(answers) == 0 {
				t.Fatalf("%q: %s: %v", text, answer, err)
			}
		}
		for _, a := range answers {
			checkAnswer(t, a)
		}
	})
}

func checkAnswer(t *testing.T, answer json.RawMessage) {
	t.Helper()
	var a map[string]json.RawMessage
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	_, result := a["result"]
	_, failed := a["error"]
	if string(a["jsonrpc"]) != `"2.0"` || a["id"] == nil || result == failed || len(a) != 3 {
		t.Errorf("answer %s", answer)
	}
}
