package tools

import (
	"strings"
	"testing"

	"pannier/loader/pytool"
)

// TestCommandLine turns the arguments of a call into those that the parser of the script reads.
func TestCommandLine(t *testing.T) {
	options := []option{
		{Name: "file"},
		{Name: "rest", Kind: pytool.OptionList},
		{Name: "out", Flag: "--out"},
		{Name: "n", Flag: "-n"},
		{Name: "tags", Flag: "--tag", Kind: pytool.OptionRepeat},
		{Name: "all", Flag: "--all", Kind: pytool.OptionList},
		{Name: "force", Flag: "--force", Kind: pytool.OptionSwitch},
		{Name: "color", Flag: "--color", Kind: pytool.OptionToggle},
		{Name: "v", Flag: "-v", Kind: pytool.OptionCount},
	}
	commands := []option{
		{Name: "root", Flag: "--root"}, {Name: "command", Commands: true}, {Name: "x", Command: "add"}, {Name: "y", Flag: "--y", Command: "add"}, {Name: "x", Flag: "--x", Command: "del"},
	}
	nested := []option{
		{Name: "noun", Commands: true}, {Name: "verb", Commands: true, Command: "role"}, {Name: "r", Flag: "--r", Command: "role"}, {Name: "id", Command: "role add"},
	}
	raw := []option{
		{Name: "v", Flag: "-v", Kind: pytool.OptionSwitch, Raw: true}, {Name: "out", Flag: "--out", Raw: true}, {Name: "to", Flag: "--to=", Raw: true}, {Name: "in", Raw: true}, {Name: "then", Raw: true},
	}
	for _, tt := range []struct {
		options         []option
		arguments, want string
	}{
		{nil, `{"argv":["a"]}`, `{"argv":["a"]}`},
		{options, `{}`, `{"argv":[]}`},
		{options, `{"argv":["--raw","a b"]}`, `{"argv":["--raw","a b"]}`},
		{options, `{"out":"o","file":"f","rest":["a","b"],"argv":["z"]}`, `{"argv":["f","a","b","--out","o","z"]}`},
		{options, `{"out":"-o","n":-5,"tags":["a","-b"],"all":["x",2]}`, `{"argv":["--out=-o","-n-5","--tag","a","--tag=-b","--all","x","2"]}`},
		{options, `{"file":"-f","force":true}`, `{"argv":["--force","--","-f"]}`},
		{options, `{"file":null,"force":false,"color":false,"v":2}`, `{"argv":["--no-color","-v","-v"]}`},
		{options, `{"color":true,"v":1000000000}`, `{"argv":["--color"` + strings.Repeat(`,"-v"`, 16) + `]}`},
		{options, `{"file":"$(id); rm","n":1.5}`, `{"argv":["$(id); rm","-n","1.5"]}`},
		{commands, `{"root":"r","command":"add","x":"1","y":"2"}`, `{"argv":["--root","r","add","1","--y","2"]}`},
		{commands, `{"command":"del","x":"1"}`, `{"argv":["del","--x","1"]}`},
		{nested, `{"noun":"role","verb":"add","r":"x","id":"-7"}`, `{"argv":["role","--r","x","add","--","-7"]}`},
		{nested, `{"noun":"role","r":"x"}`, `{"argv":["role","--r","x"]}`},
		{nested, `{"noun":"key","id":"1"}`, "has no argument"},
		{raw, `{"then":"b","in":"-a","out":"-o","v":true,"to":"t","argv":["z"]}`, `{"argv":["-v","--out","-o","--to=t","-a","b","z"]}`},
		{raw, `{"then":"b"}`, "comes after"},
		{[]option{{Name: "first"}, {Name: "second"}}, `{"second":"b"}`, "comes after"},
		{[]option{{Name: "first"}, {Name: "last"}}, `{"last":"b"}`, `{"argv":["b"]}`},
		{options, `{"file":"f","stdin":"text"}`, `{"argv":["f"],"stdin":"text"}`},
		{commands, `{"command":"del","y":"1"}`, "has no argument"},
		{options, `{"argv":"a"}`, "not a list"},
		{options, `[]`, "no object"},
	} {
		got, err := commandLine(tt.options, []string{"file", "last"}, []byte(tt.arguments))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != tt.want && (err == nil || !strings.Contains(string(got), tt.want)) {
			t.Errorf("%s: got %s, want %s", tt.arguments, got, tt.want)
		}
	}
}
