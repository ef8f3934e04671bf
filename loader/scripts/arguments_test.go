package scripts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pannier/loader/schema"
	"pannier/loader/scripts"
)

// shown returns options with their schemas in one line, and whether each is required.
func shown(t *testing.T, name, text string) string {
	t.Helper()
	options, parameters := scripts.Arguments(name, []byte(text))
	var p struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if parameters != nil {
		if err := json.Unmarshal(parameters, &p); err != nil || p.Properties["argv"] == nil {
			t.Fatalf("%s: %v", parameters, err)
		}
		if _, err := schema.Compile(parameters); err != nil {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	var parts []string
	for _, o := range options {
		part := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", o.Name, o.Flag, o.Kind)), " ")
		part += strings.NewReplacer(`{"type":"string"}`, "", `"type":"string"`, "").Replace(string(p.Properties[o.Name]))
		for _, name := range p.Required {
			if name == o.Name {
				part += "!"
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestShellArguments(t *testing.T) {
	const (
		loop = "while [[ $# -gt 0 ]]; do\n  case \"$1\" in\n%s\n    *) usage; exit 1;;\n  esac\ndone\n"
		flag = "    -o|--out) OUT=\"$2\"; shift 2;;\n    -v) V=1; shift;;\n    -h|--help) usage; exit 0;;"
	)
	for _, tt := range []struct{ name, text, want string }{
		{"loop", fmt.Sprintf(loop, flag), "out --out, v -v switch{\"type\":\"boolean\"}"},
		{"lines", fmt.Sprintf(loop, "    --out)\n      OUT=\"$2\"\n      shift 2\n      ;;\n    --tag)\n      TAGS+=(\"$2\"); shift 2;;"), `out --out, tag --tag repeat{"type":"array","items":}`},
		{"default and help", "OUT=/tmp\n" + "usage() {\n  cat <<EOF\nUsage: x\n  -o, --out DIR   Where to write\n  -v              Say more\nEOF\n}\n" + fmt.Sprintf(loop, flag), `out --out{,"description":"Where to write","default":"/tmp"}, v -v switch{"type":"boolean","description":"Say more"}`},
		{"in a function", "parse() {\n  " + strings.ReplaceAll(fmt.Sprintf(loop, flag), "\n", "\n  ") + "\n}\nparse \"$@\"\n", "out --out, v -v switch{\"type\":\"boolean\"}"},
		{"in main", "main() {\n" + fmt.Sprintf("  "+loop, flag) + "}\nmain \"$@\"\n", "out --out, v -v switch{\"type\":\"boolean\"}"},
		{"functions in a function", "parse() {\n" + fmt.Sprintf("  "+loop, flag) + "}\nmain() {\n  parse \"$@\"\n}\nmain \"$@\"\n", "out --out, v -v switch{\"type\":\"boolean\"}"},
		{"joined", "for arg in \"$@\"; do\n  case $arg in\n    --out=*) OUT=${arg#*=} ;;\n    --dry) D=1 ;;\n  esac\ndone\n", "out --out=, dry --dry switch{\"type\":\"boolean\"}"},
		{"shift first", "URL=\"$1\"\nshift\n" + fmt.Sprintf(loop, flag), "url!, out --out, v -v switch{\"type\":\"boolean\"}"},
		{"value or not", fmt.Sprintf(loop, "    --out) if [[ \"$2\" != -* ]]; then O=$2; shift; fi; shift;;\n    --v) V=1; shift;;"), "v --v switch{\"type\":\"boolean\"}"},
		{"used before", "echo \"$1\"\n" + fmt.Sprintf(loop, flag), ""},
		{"for with values", "for a in \"$@\"; do\n  case $a in\n    --out) shift; OUT=$1 ;;\n  esac\ndone\n", ""},
		{"unread case", "while [ $# -gt 0 ]; do\n  case $1 in\n    --a) A=1 ;;\n", ""},
		{"getopts", "while getopts \":o:vh\" opt; do\n  case $opt in\n    o) OUT=$OPTARG ;;\n    v) V=1 ;;\n  esac\ndone\n", "out -o, v -v switch{\"type\":\"boolean\"}"},
		{"getopt", "args=$(getopt -o a: -- \"$@\")\nset -- $args\n", ""},
		{"numbers", "if [ $# -lt 1 ]; then\n  echo no\n  exit 1\nfi\nIN=\"$1\"\nOUT=${2:-out}\n", `in!, out{,"default":"out"}`},
		{"needed by ?", "IN=${1:?no input}\nlocal_x=1\nOUT=\"${2:-}\"\n", "in!, out"},
		{"needed by -z", "IN=$1\n[ -z \"$IN\" ] && { echo no; exit 2; }\n", "in!"},
		{"default after -z", "IN=$1\nif [ -z \"$IN\" ]; then\n  IN=x\nfi\nif [ ! -f \"$IN\" ]; then\n  exit 1\nfi\n", "in"},
		{"out of order", "B=$2\nA=$1\n", ""},
		{"used directly", "A=$1\ncat \"$2\"\n", ""},
		{"all", "A=$1\nrun \"$@\"\n", ""},
		{"usage", "# Usage: x.sh [-v] --out FILE INPUT\n# -v  Say more\ncat \"$1\"; [ x = --out ] || [ x = -v ]\n", `v -v switch{"type":"boolean","description":"Say more"}, out --out!, input!`},
		{"usage with options", "# Usage: x.sh [options] FILE\ncat \"$1\"\n", ""},
		{"several usages", "# Usage: x.sh add FILE\n#        x.sh del FILE\ncat \"$1\"\n", ""},
		{"flag of usage alone", "# Usage: x.sh [--force] FILE\ncat \"$1\"\n", ""},
		{"usage of another", "# Usage: y.sh FILE\ncat \"$1\"\n", ""},
		{"usage without arguments", "# Usage: x.sh FILE\necho\n", ""},
		{"twice", "# Usage: x.sh FILE FILE\ncat \"$1\"\n", ""},
		{"here-document", "cat <<EOF\nwhile [ $# -gt 0 ]; do\ncase $1 in\n--a) A=1;;\nesac\ndone\nEOF\n", ""},
		{"empty", "", ""},
		{"binary", "\x00A=$1\n", ""},
	} {
		if got := shown(t, "scripts/x.sh", "#!/bin/bash\n"+tt.text); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for text, want := range map[string]string{
		"\"\"\"Usage: python3 x.py <in file> [out-dir] [--force]\"\"\"\nimport sys\nsys.argv[1]\nf = '--force' in sys.argv\n": `in_file!, out_dir, force --force switch{"type":"boolean"}`,
		"\"\"\"Usage:\n  x.py FILE...\n\"\"\"\nimport sys\nsys.argv\n":                                                        `file list{"type":"array","items":}!`,
		"\"\"\"Usage: x.py [out] FILE\"\"\"\nimport sys\nsys.argv\n":                                                          "",
		"\"\"\"Usage: x.py {a,b}\"\"\"\nimport sys\nsys.argv\n":                                                               "",
		"\"\"\"Usage: x.py a.csv\"\"\"\nimport sys\nsys.argv\n":                                                               "",
		"\"\"\"Usage: x.py FILE\"\"\"\nimport argparse\nargparse.ArgumentParser().add_argument(*sys.argv)\n":                  "",
	} {
		if got := shown(t, "scripts/x.py", text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestJavaScriptArguments(t *testing.T) {
	const begin = "#!/usr/bin/env node\nimport { program, Option } from 'commander'; // .option('--no')\n"
	for text, want := range map[string]string{
		begin + "program.name('x').argument('<file>', 'The file').argument('[more...]').option('-o, --out <file>', 'Where', 'a.txt').requiredOption('--n <number>', 'How many', parseInt).option('-f, --force').option('--tag <t...>', \"It's\").parse();": `file{,"description":"The file"}!, more list{"type":"array","items":}, out --out{,"description":"Where","default":"a.txt"}, n --n{"type":"integer","description":"How many"}!, force --force switch{"type":"boolean"}, tag --tag repeat{"type":"array","items":,"description":"It's"}`,
		begin + "program.addOption(new Option('-s, --size <size>', 'Size').choices(['s', 'm']).default('m')).addOption(new Option('--x').hideHelp())":                                                                                                      `size --size{"enum":["s","m"],,"description":"Size","default":"m"}`,
		begin + "program.arguments('<a> [b]').option(FLAGS, 'x').option(`--y ${z}`).option(`--w`)":                                                                                                                                                         `a!, b, w --w switch{"type":"boolean"}`,
		begin + "program.command('add <x>').option('--y')":     "",
		begin + "program.argument(NAME).argument('<b>')":       "",
		begin + "program.option('--a'":                         "",
		begin + "const r = /['\"]/; program.option('--a <x>')": "a --a",
		"import { parseArgs } from 'node:util';\nconst { values } = parseArgs({ allowPositionals: true, options: { 'out-dir': { type: 'string', short: 'o', default: 'x' }, v: { type: 'boolean' }, tag: { type: 'string', multiple: true }, help: { type: 'boolean' } } });": `out_dir --out-dir{,"default":"x"}, v --v switch{"type":"boolean"}, tag --tag repeat{"type":"array","items":}`,
		"const util = require('util');\nconst options = { a: { type: 'string' } };\nutil.parseArgs({ options });":                                                                                                                                                             "a --a",
		"const util = require('util');\nconst known = { a: { type: 'string' } };\nutil.parseArgs({ options: known });":                                                                                                                                                        "a --a",
		"import { parseArgs } from 'util';\nparseArgs({ options: make() });":                                                                                                                                                                                                  "",
		"function parseArgs(x) {}\nparseArgs({ options: { a: { type: 'string' } } });":                                                                                                                                                                                        "",
	} {
		if got := shown(t, "scripts/x.mjs", text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestReadsStdin(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"x.py", "import sys\ndata = json.load(sys.stdin)\n", true},
		{"x.py", "for line in sys.stdin.readlines(): pass\n", true},
		{"x.py", "if sys.stdin.isatty(): pass\n# sys.stdin.read()\nsys.stdin.reconfigure(encoding='utf-8')\n", false},
		{"x.py", "input()\n", false},
		{"x.sh", "x=$(cat)\n", true},
		{"x.sh", "cat - > x\n", true},
		{"x.sh", "cat x; x=$(cat <<EOF\na\nEOF\n)\nread -r y\n", false},
		{"x.js", "process.stdin.on('data', f)\n", true},
		{"x.js", "const x = fs.readFileSync(0, 'utf8')\n", true},
		{"x.js", "process.stdin.isTTY; fs.readFileSync(00)\n", false},
		{"x.rb", "STDIN.read", false},
	} {
		if got := scripts.ReadsStdin(tt.name, []byte(tt.text)); got != tt.want {
			t.Errorf("%s %q: %t", tt.name, tt.text, got)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("x.sh", "while [ $# -gt 0 ]; do case $1 in --a|-b) X=\"$2\";; esac; done\n# Usage: x.sh [-v] FILE\n")
	f.Add("x.sh", "while getopts \"a:b\" o; do\ncase $o in\na) A=$OPTARG;;\nesac\n")
	f.Add("x.js", "require('commander').option('-a, --b <c...>', `x`, 1).argument('[d]')\n/* /x[/]/")
	f.Add("x.js", "util.parseArgs({options: {a: {type: 'string'")
	f.Add("x.py", "'''Usage: x.py [--a B] <c>...'''\nsys.argv --a")
	f.Fuzz(func(t *testing.T, name, text string) {
		options, parameters := scripts.Arguments(name, []byte(text))
		if (len(options) == 0) != (parameters == nil) || parameters != nil && !json.Valid(parameters) {
			t.Errorf("%q: %+v, %s", text, options, parameters)
		}
		scripts.ReadsStdin(name, []byte(text))
	})
}
