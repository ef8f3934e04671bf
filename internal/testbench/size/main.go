// Command size measures the source of pannier: lines, functions, and where they are called from. docs/dev/SIZE.md has its
// table. It needs the go command and no network.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// core lists the packages of the core, as docs/ARCHITECTURE.md has them.
var core = []string{
	"pannier", "pannier/watcher", "pannier/loader", "pannier/loader/fields", "pannier/loader/repair", "pannier/registry",
	"pannier/registry/resolve", "pannier/publish/card", "pannier/publish/push", "pannier/publish/molecule",
	"pannier/publish/molecule/dev", "pannier/publish/prompt", "pannier/publish/api", "pannier/service", "pannier/config",
	"pannier/sidecar", "pannier/internal/fsx", "pannier/internal/seqlog", "pannier/internal/journal", "pannier/internal/state",
	"pannier/internal/yamldoc",
}

// notProduct reports whether a package only measures or tests the others.
func notProduct(path string) bool {
	return strings.Contains(path, "/testbench/") || strings.HasSuffix(path, ".ci/openapi") || path == "pannier/console/e2e"
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Module                             *struct{ Main bool }
}

// use is one place that refers to a function.
type use struct{ file, within string }

func main() {
	list := flag.Bool("list", false, "list the functions that are called once and are short, with their places")
	only := flag.String("package", "", "with -list: of this package only, for example pannier/loader")
	flag.Parse()
	if err := measure(*list, *only); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func measure(list bool, only string) error {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })

	var product, coreLines, tests, functions, once, onceLines, longest int
	perPackage := map[string]int{}
	type structure struct {
		name   string
		fields int
	}
	var structs []structure
	type short struct {
		name, place string
		lines       int
	}
	var shorts []short
	back := map[string]int{}
	for _, p := range ours {
		if notProduct(p.ImportPath) {
			continue
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			n, err := countLines(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			tests += n
		}
		var files []*ast.File
		lines := 0
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			n, err := countLines(path)
			if err != nil {
				return err
			}
			lines += n
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		product += lines
		perPackage[p.ImportPath] = lines
		if slices.Contains(core, p.ImportPath) {
			coreLines += lines
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: imports}
		if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
			return err
		}
		declared := map[types.Object]*ast.FuncDecl{}
		uses := map[types.Object][]use{}
		calls := map[[2]string]bool{} // file to file
		for _, f := range files {
			file := filepath.Base(fset.Position(f.Pos()).Filename)
			for _, d := range f.Decls {
				within := ""
				if fn, ok := d.(*ast.FuncDecl); ok {
					within = fn.Name.Name
					declared[info.Defs[fn.Name]] = fn
				}
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.Ident:
						if fn, ok := info.Uses[n].(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == p.ImportPath {
							fn = fn.Origin()
							uses[fn] = append(uses[fn], use{file, within})
							if to := filepath.Base(fset.Position(fn.Pos()).Filename); to != file && to != "." {
								calls[[2]string{file, to}] = true
							}
						}
					case *ast.TypeSpec:
						if s, ok := n.Type.(*ast.StructType); ok {
							structs = append(structs, structure{strings.TrimPrefix(p.ImportPath, "pannier/") + "." + n.Name.Name, s.Fields.NumFields()})
						}
					}
					return true
				})
			}
		}
		for pair := range calls {
			if calls[[2]string{pair[1], pair[0]}] && pair[0] < pair[1] {
				back[p.ImportPath]++
			}
		}
		for object, fn := range declared {
			functions++
			from, to := fset.Position(fn.Pos()), fset.Position(fn.End())
			length := to.Line - from.Line + 1
			longest = max(longest, length)
			if fn.Name.IsExported() || fn.Name.Name == "main" || fn.Name.Name == "init" || len(uses[object]) != 1 {
				continue
			}
			once++
			onceLines += length
			if list && length <= 12 && (only == "" || only == p.ImportPath) {
				place := strings.TrimPrefix(from.String(), p.Dir+"/")
				shorts = append(shorts, short{fn.Name.Name, filepath.Join(strings.TrimPrefix(p.ImportPath, "pannier/"), place), length})
			}
		}
	}
	if list {
		slices.SortFunc(shorts, func(a, b short) int { return cmp.Compare(a.place, b.place) })
		for _, s := range shorts {
			fmt.Printf("%3d  %-40s %s\n", s.lines, s.name, s.place)
		}
		return nil
	}
	slices.SortFunc(structs, func(a, b structure) int { return cmp.Or(cmp.Compare(b.fields, a.fields), cmp.Compare(a.name, b.name)) })
	fmt.Println("| what | count |\n|---|---|")
	fmt.Printf("| product lines of Go, without test benches | %d |\n", product)
	fmt.Printf("| core: its packages together | %d |\n", coreLines)
	for _, name := range []string{"pannier/sidecar", "pannier/publish/api", "pannier/loader", "pannier/watcher", "pannier/cmd/pannier"} {
		fmt.Printf("| `%s` | %d |\n", strings.TrimPrefix(name, "pannier/"), perPackage[name])
	}
	fmt.Printf("| test lines beside them | %d |\n", tests)
	fmt.Printf("| functions | %d |\n", functions)
	fmt.Printf("| unexported and referred to from one place; their lines | %d (%d %%); %d |\n", once, 100*once/functions, onceLines)
	fmt.Printf("| longest function, lines | %d |\n", longest)
	for _, s := range structs[:min(8, len(structs))] {
		fmt.Printf("| fields of `%s` | %d |\n", s.name, s.fields)
	}
	for _, name := range []string{"pannier/sidecar", "pannier/publish/api", "pannier/loader", "pannier/watcher"} {
		fmt.Printf("| pairs of files of `%s` that call each other | %d |\n", strings.TrimPrefix(name, "pannier/"), back[name])
	}
	return nil
}

func countLines(path string) (int, error) {
	text, err := os.ReadFile(path)
	return bytes.Count(text, []byte("\n")), err
}
