package pytool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier/loader/pytool"
	"pannier/loader/schema"
)

// TestProgram reads what argparse is given as plain values, and leaves out what is computed.
func TestProgram(t *testing.T) {
	const begin = "import argparse\np = argparse.ArgumentParser(description='Fill ' 'forms.')\n"
	for _, tt := range []struct{ name, text, want string }{
		{"by place", "p.add_argument('file', type=Path, help='The file')", `file:{"type":"string","description":"The file"} required file`},
		{"flag", "p.add_argument('-o', '--out-dir', default='x', help='Where, %(default)s or 5%%')", `out_dir --out-dir:{"type":"string","description":"Where, x or 5%","default":"x"}`},
		{"short", "p.add_argument('-n', dest='number', type=int, required=True)", `number -n:{"type":"integer"} required number`},
		{"types", "p.add_argument('--a', type=float)\np.add_argument('--b', type=check, default=5)\np.add_argument('--c', type=int, default=5)", `a --a:{"type":"number"}, b --b:{"type":"string"}, c --c:{"type":"integer","default":5}`},
		{"choices", "ALL = ('x', 'y')\np.add_argument('--a', choices=['b', 'c'])\np.add_argument('--d', choices=ALL)\np.add_argument('--e', choices=range(3))\np.add_argument('--f', choices=[1, 2])", `a --a:{"enum":["b","c"],"type":"string"}, d --d:{"enum":["x","y"],"type":"string"}, e --e:{"type":"string"}, f --f:{"type":"string"}`},
		{"actions", "p.add_argument('--a', action='store_true', default=False)\np.add_argument('--b', action='append', type=int)\np.add_argument('-v', action='count', default=0)\np.add_argument('--version', action='version')\np.add_argument('--c', action=argparse.BooleanOptionalAction)", `a --a switch:{"type":"boolean"}, b --b repeat:{"type":"array","items":{"type":"integer"}}, v -v count:{"type":"integer","default":0}, c --c toggle:{"type":"boolean"}`},
		{"nargs", "p.add_argument('a', nargs='+')\np.add_argument('b', nargs='*', help='B')\np.add_argument('c', nargs='?', default='x')\np.add_argument('--d', nargs=2, type=int)", `a list:{"type":"array","items":{"type":"string"}} required a, b list:{"type":"array","items":{"type":"string"},"description":"B"}, c:{"type":"string","default":"x"}, d --d list:{"type":"array","items":{"type":"integer"}}`},
		{"groups", "g = p.add_mutually_exclusive_group()\ng.add_argument('--a')\nx = p.add_argument_group('x')\nx.add_argument('--b')", `a --a:{"type":"string"}, b --b:{"type":"string"}`},
		{"one name", "p.add_argument('--yes', dest='x', action='store_true')\np.add_argument('--no', dest='x', action='store_false')", `x --yes switch:{"type":"boolean"}, no --no switch:{"type":"boolean"}`},
		{"target that is no name", "r['note'] = ('not ' 'there')\np.add_argument('--a', choices=['b', 'c'])\nfor n in ['--d', '--e']:\n    p.add_argument(n)", `a --a:{"enum":["b","c"],"type":"string"}, d --d:{"type":"string"}, e --e:{"type":"string"}`},
		{"in a function", "def more(parser):\n    parser.add_argument('--a')\nmore(p)", `a --a:{"type":"string"}`},
		{"argv", "p.add_argument('argv', nargs='*')", `argv_ list:{"type":"array","items":{"type":"string"}}`},
		{"hidden", "p.add_argument('--a', help=argparse.SUPPRESS)\np.add_argument('--b', help=f'{x}')", `b --b:{"type":"string"}`},
		{"loop", "for name in names:\n    p.add_argument('--' + name)\n    p.add_argument(f'--{name}-x')\n    p.add_argument(name)", ""},
		{"parents", "q = argparse.ArgumentParser(parents=[p])\np.add_argument('--late')\nq.add_argument('--a')", `a --a:{"type":"string"}`},
		{"subcommands", "s = p.add_subparsers(dest='action')\na = s.add_parser('add')\na.add_argument('x', help='The x')\nb = s.add_parser('del')\nb.add_argument('x')\nfor q in (a, b):\n    q.add_argument('--n', type=int)\nb.add_argument('--force', action='store_true')\np.add_argument('--root')", `action commands:{"enum":["add","del"],"type":"string"} required action, root --root:{"type":"string"}, ` +
			`x add:{"type":"string","description":"For add, del: The x"}, n --n add:{"type":"integer","description":"For add, del"}, x del:{"type":"string","description":"For add, del: The x"}, n --n del:{"type":"integer","description":"For add, del"}, force --force switch del:{"type":"boolean","description":"For del"}`},
		{"differing", "s = p.add_subparsers()\na = s.add_parser('a')\na.add_argument('--x', type=int)\nb = s.add_parser('b')\nb.add_argument('--x')", `command commands:{"enum":["a","b"],"type":"string"} required command, x --x a:{"type":"integer","description":"For a"}, b_x --x b:{"type":"string","description":"For b"}`},
		{"helpers", "def common(parser, extra=None):\n    parser.add_argument('--v', action='store_true')\n    g = parser.add_argument_group('g')\n    g.add_argument('--w')\ns = p.add_subparsers()\na = s.add_parser('a')\nb = s.add_parser('b')\nb.add_argument('x')\nfor q in (a, b):\n    common(q)\n", `command commands:{"enum":["a","b"],"type":"string"} required command, v --v switch a:{"type":"boolean","description":"For a, b"}, w --w a:{"type":"string","description":"For a, b"}, x b:{"type":"string","description":"For b"}, v --v switch b:{"type":"boolean","description":"For a, b"}, w --w b:{"type":"string","description":"For a, b"}`},
		{"own class", "class Parser(argparse.ArgumentParser):\n    def error(self, m): pass\nq = Parser()\nq.add_argument('--b')\n", `b --b:{"type":"string"}`},
		{"helper before", "p.add_argument('--a')\ndef main():\n    more(p)\ndef more(parser):\n    parser.add_argument('--b')\n", `a --a:{"type":"string"}, b --b:{"type":"string"}`},
		{"recursion", "def f(x):\n    x.add_argument('--a')\n    f(x)\n    f(x)\nf(p)\n", `a --a:{"type":"string"}`},
		{"literal loops", "for flag in ('--a', '--b'):\n    p.add_argument(flag, type=int)\nfor flag, kind, help in [('--c', float, 'C'), ('--d', str, 'D')]:\n    p.add_argument(flag, type=kind, help=help)\nALL = ['--e']\nfor n in ALL:\n    p.add_argument(n)\nfor n in ('g', 'h'):\n    p.add_argument('--' + n)\n    p.add_argument(f'--{n}')\n", `a --a:{"type":"integer"}, b --b:{"type":"integer"}, c --c:{"type":"number","description":"C"}, d --d:{"type":"string","description":"D"}, e --e:{"type":"string"}`},
		{"nested subcommands", "s = p.add_subparsers(dest='noun')\nr = s.add_parser('role')\nt = r.add_subparsers(dest='verb')\nt.add_parser('add').add_argument('--n')\nk = s.add_parser('key')\nu = k.add_subparsers(dest='verb')\nd = u.add_parser('drop')\nd.add_argument('id')\n", `noun commands:{"enum":["role","key"],"type":"string"} required noun, verb commands role:{"enum":["add","drop"],"type":"string","description":"For role, key"}, verb commands key:{"enum":["add","drop"],"type":"string","description":"For role, key"}, id key drop:{"type":"string","description":"For key drop"}`},
		{"computed subcommands", "s = p.add_subparsers()\nfor n in names:\n    q = s.add_parser(n)\n    q.add_argument('x')\np.add_argument('--a')", ""},
		{"broken", "p.add_argument('--a', help='x'\ndef f():\n    p.add_argument('--b')", `b --b:{"type":"string"}`},
		{"nothing", "p.add_argument(*args, **kwargs)\np.add_argument()\np.add_argument('é')", ""},
	} {
		got := pytool.ReadProgram([]byte("\"\"\"Doc.\n\n    More.\"\"\"\n" + begin + tt.text + "\n"))
		if got.Docstring != "Doc.\n\nMore." || got.Description != "Fill forms." {
			t.Errorf("%s: %q, %q", tt.name, got.Docstring, got.Description)
		}
		var parameters struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		if got.Parameters != nil {
			if err := json.Unmarshal(got.Parameters, &parameters); err != nil || parameters.Properties["argv"] == nil {
				t.Errorf("%s: %s, %v", tt.name, got.Parameters, err)
			}
			if _, err := schema.Compile(got.Parameters); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		var lines []string
		for _, o := range got.Options {
			kind := o.Kind
			if o.Commands {
				kind = "commands"
			}
			line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", o.Name, o.Flag, kind, o.Command)), " ") + ":" + string(parameters.Properties[o.Name])
			if slices.Contains(parameters.Required, o.Name) {
				line += " required " + o.Name
			}
			lines = append(lines, line)
		}
		if s := strings.Join(lines, ", "); s != tt.want {
			t.Errorf("%s: got\n%s, want\n%s", tt.name, s, tt.want)
		}
	}
}

// TestClick reads the one command of a program with click.
func TestClick(t *testing.T) {
	const command = "import click\n@click.command()\n"
	for text, want := range map[string]string{
		command + "@click.argument('file', type=click.Path())\n@click.option('--n', '-n', 'number', type=int, default=5, help='How  many')\n@click.option('-f', '--force', is_flag=True)\ndef f(): pass\n":                                                              `"file":{"type":"string"},"number":{"type":"integer","description":"How many","default":5},"force":{"type":"boolean"}},"required":["file"] file number:--n force:--force:switch`,
		command + "@click.argument('files', nargs=-1)\n@click.option('--to', type=click.Choice(['a', 'b'], case_sensitive=False), required=True)\n@click.option('--tag', multiple=True)\n@click.option('--x/--no-x')\n@click.option('-v', count=True)\ndef f(): pass\n": `"files":{"type":"array","items":{"type":"string"}},"to":{"enum":["a","b"],"type":"string"},"tag":{"type":"array","items":{"type":"string"}},"x":{"type":"boolean"},"v":{"type":"integer"}},"required":["to"] files:list to:--to tag:--tag:repeat x:--x:toggle v:-v:count`,
		command + "@click.option(name)\ndef f(): pass\n":                                                   " ",
		"import click\n@click.group()\ndef g(): pass\n@g.command()\n@click.option('--a')\ndef f(): pass\n": " ",
		command + "@click.option('--a')\ndef f(): pass\n@click.command()\ndef g(): pass\n":                 " ",
	} {
		checkProgram(t, text, want)
	}
}

// TestTyper reads the commands of a program with typer.
func TestTyper(t *testing.T) {
	const begin = "import typer\nfrom enum import Enum\nclass Mode(str, Enum):\n    fast = 'fast'\n    slow = 'slow'\napp = typer.Typer()\n"
	for text, want := range map[string]string{
		begin + "@app.command()\ndef main(file: Path, n: int = typer.Option(5, '--number', '-n', help='How  many'), force: bool = False, mode: Mode = Mode.fast): pass\napp()\n":                                                                                                                                                                                           `"file":{"type":"string"},"n":{"type":"integer","description":"How many","default":5},"force":{"type":"boolean","default":false},"mode":{"enum":["fast","slow"],"type":"string"}},"required":["file"] file n:--number force:--force:toggle mode:--mode`,
		begin + "@app.command()\ndef main(files: Annotated[List[str], typer.Argument(help='Them')], out: Annotated[Optional[str], typer.Option('--out')] = None, tag: List[str] = typer.Option([]), dry: bool = typer.Option(False, '--dry'), v: int = typer.Option(0, '-v', count=True), secret: str = typer.Option('', hidden=True), ctx: typer.Context = None): pass\n": `"files":{"type":"array","items":{"type":"string"},"description":"Them"},"out":{"type":"string"},"tag":{"type":"array","items":{"type":"string"}},"dry":{"type":"boolean"},"v":{"type":"integer","default":0}},"required":["files"] files:list out:--out tag:--tag:repeat dry:--dry:switch v:-v:count`,
		begin + "@app.command()\ndef add_one(x: int): pass\n@app.command('del')\ndef remove(x: int, all: bool = typer.Option(..., '--all/--some')): pass\n":                                                                                                                                                                                                                `"command":{"enum":["add-one","del"],"type":"string"},"x":{"type":"integer","description":"For add-one, del"},"all":{"type":"boolean","description":"For del"}},"required":["command"] command x x all:--all:switch`,
		begin + "@app.callback()\ndef main(v: bool = False): pass\n@app.command()\ndef go(): pass\n":                                                                                                                                                                                                                                                                       `"v":{"type":"boolean","default":false},"command":{"enum":["go"],"type":"string"}},"required":["command"] v:--v:toggle command`,
		"import typer\ndef main(name: str = typer.Argument('x')): pass\nif __name__ == '__main__':\n    typer.run(main)\n":                                                                                                                                                                                                                                                 `"name":{"type":"string","default":"x"}} name`,
		begin + "@app.command(NAME)\ndef main(x: int): pass\n":                     " ",
		begin + "@app.command()\ndef main(x: tuple[int, int]): pass\n":             " ",
		begin + "@app.command()\ndef main(x: int = typer.Option(1, NAME)): pass\n": " ",
		begin + "app.add_typer(other)\n@app.command()\ndef main(x: int): pass\n":   " ",
	} {
		checkProgram(t, text, want)
	}
}

// checkProgram compares the parameters and options of a program, without argv.
func checkProgram(t *testing.T, text, want string) {
	t.Helper()
	p := pytool.ReadProgram([]byte(text))
	_, got, _ := strings.Cut(string(p.Parameters), `"properties":{`)
	got, required, _ := strings.Cut(got, `,"argv":`)
	_, required, _ = strings.Cut(required, `others."}`)
	got += strings.TrimSuffix(required, `,"additionalProperties":false}`)
	for _, o := range p.Options {
		line := o.Name
		for _, part := range []string{o.Flag, o.Kind} {
			if part != "" {
				line += ":" + part
			}
		}
		got += " " + line
	}
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s: got\n%s, want\n%s", text, got, want)
	}
}

func FuzzProgram(f *testing.F) {
	f.Add("import click\n@click.command()\n@click.option('--a', type=click.Choice(\ndef")
	f.Add("import typer\n@app.command()\ndef f(a: int = typer.Option(1, '--a/--b'), *c")
	f.Add("import ArgumentParser\ndef f(x):\n for a, b in [(1,\n  x.add_argument(a)\nf(p)")
	f.Add("p = ArgumentParser(\ns = p.add_subparsers()\nx = s.add_parser('a')\nx.add_argument('b', choices=(1,")
	f.Fuzz(func(t *testing.T, text string) {
		p := pytool.ReadProgram([]byte(text))
		if (len(p.Options) == 0) != (p.Parameters == nil) || p.Parameters != nil && !json.Valid(p.Parameters) {
			t.Errorf("%q: %+v", text, p)
		}
	})
}
