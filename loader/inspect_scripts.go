package loader

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/loader/needs"
	"pannier/loader/pytool"
	"pannier/loader/scripts"
)

// The bounds of what is read of one skill to find its scripts, beside maxToolBytes.
const (
	maxMarkdownFiles = 128
	maxMarkdownBytes = 256 << 10 // of one file
	maxScripts       = 256
	maxPackages      = 16
)

// scripts returns the scripts of the skill: the files that a command in a Markdown file of the skill runs, and those
// right in scripts/ and tools/ that can be run. texts are those of files that were read already, functions the tools
// in them.
func (in *inspector) scripts(texts map[string][]byte, functions []pannier.Tool) []pannier.Tool {
	files := in.ownFiles()
	var programs []pannier.File // most skills have none, and then no text is read
	for _, f := range files {
		if scripts.MayBe(f.Path) && (f.Executable || !scripts.IsData(f.Path)) {
			programs = append(programs, f)
		}
	}
	if len(programs) == 0 {
		return nil
	}
	packages := in.packages(files)
	named := in.named(files, programs, packages)
	text := func(name string) []byte {
		if _, known := texts[name]; !known && in.read <= maxToolBytes {
			texts[name], _ = in.readFile(name, pytool.MaxFileBytes+1) // what cannot be read has no text
			in.read += int64(len(texts[name]))
		}
		return texts[name]
	}
	imported := map[string]string{} // one file that imports a name, "" for several
	var maybe []pannier.File
	for _, f := range programs {
		_, isNamed := named[f.Path]
		if !isNamed && !scripts.IsRightInDir(f.Path) && !scripts.HasExtension(f.Path) {
			continue
		}
		maybe = append(maybe, f)
		if len(maybe) == maxScripts {
			break
		}
	}
	for _, f := range maybe {
		for _, name := range scripts.Imports(f.Path, text(f.Path)) {
			if by, again := imported[name]; again && by != f.Path {
				imported[name] = ""
			} else {
				imported[name] = f.Path
			}
		}
	}
	var found []pannier.Tool
	for _, f := range maybe {
		ref := named[f.Path]
		by, isImported := imported[strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))]
		file := scripts.File{
			Path: f.Path, Executable: f.Executable, Text: text(f.Path), Run: ref.Run, Mentioned: ref.Path != "",
			Imported: isImported && by != f.Path,
		}
		hasFunctions := slices.ContainsFunc(functions, func(t pannier.Tool) bool { return t.Path == f.Path })
		if file.IsScript() && (!hasFunctions || f.Executable || ref.Run) {
			in.reportHeader(file)
			found = append(found, scriptTool(file, ref.Sentence))
		}
	}
	nameScripts(found, functions, files)
	return found
}

// ownFiles returns the files of the skill without those of skills in directories below.
func (in *inspector) ownFiles() []pannier.File {
	var below []string
	for _, f := range in.files {
		if dir := path.Dir(f.Path); dir != "." && pannier.IsSkillFile(path.Base(f.Path)) {
			below = append(below, dir+"/")
		}
	}
	return slices.DeleteFunc(slices.Clone(in.files), func(f pannier.File) bool {
		return slices.ContainsFunc(below, func(dir string) bool { return strings.HasPrefix(f.Path, dir) })
	})
}

// named returns for each file that the Markdown files of the skill name the first reference, or the first that runs it.
// Texts that name none of programs are left out.
func (in *inspector) named(
	files, programs []pannier.File, packages map[string]needs.Package,
) map[string]scripts.Reference {
	paths := make(map[string]bool, len(files))
	var texts []string
	for _, f := range files {
		paths[f.Path] = true
		ext := strings.ToLower(path.Ext(f.Path))
		if f.Path != in.skill.File && (ext == ".md" || ext == ".mdx" || ext == ".markdown") {
			texts = append(texts, f.Path)
		}
	}
	if in.skill.File != "" {
		texts = slices.Insert(texts, 0, in.skill.File)
	}
	named := map[string]scripts.Reference{}
	has := func(name string) bool { return paths[name] }
	commands := map[string]map[string]string{}
	for dir, p := range packages {
		commands[dir] = p.Scripts
		for _, file := range p.Bin {
			if file = path.Join(dir, file); paths[file] {
				named[file] = scripts.Reference{Path: file, Run: true}
			}
		}
	}
	for _, name := range texts[:min(len(texts), maxMarkdownFiles)] {
		if in.read > maxToolBytes {
			break
		}
		text, err := in.readFile(name, maxMarkdownBytes)
		if err != nil {
			continue
		}
		in.read += int64(len(text))
		runsPackage := len(packages) > 0 && strings.Contains(string(text), " run ") // names no file
		if !runsPackage && !scripts.MayName(string(text), programs) {
			continue
		}
		place := scripts.Place{Folder: in.skill.Folder, Dir: path.Dir(name), Has: has, Packages: commands}
		for _, ref := range scripts.Named(string(text), place) {
			if before, known := named[ref.Path]; !known || ref.Run && !before.Run || before.Sentence == "" {
				ref.Sentence = cmp.Or(before.Sentence, ref.Sentence) // of the text that introduces it
				ref.Run = ref.Run || before.Run
				named[ref.Path] = ref
			}
		}
	}
	return named
}

// packages returns what each package.json declares, by its directory. One that cannot be read is reported.
func (in *inspector) packages(files []pannier.File) map[string]needs.Package {
	found := map[string]needs.Package{}
	for _, f := range files {
		if path.Base(f.Path) != "package.json" || !scripts.MayBe(f.Path) || len(found) == maxPackages || in.read > maxToolBytes {
			continue
		}
		text, err := in.readFile(f.Path, needs.MaxBytes)
		if err != nil {
			continue
		}
		in.read += int64(len(text))
		p, err := needs.ReadPackage(text)
		if err != nil {
			in.report("skill.tools.package", f.Path, 0, err.Error(), "fix the JSON; Node.js starts no script beside it")
			continue
		}
		found[path.Dir(f.Path)] = p
	}
	return found
}

// reportHeader reports a header (PEP 723) that cannot be read, so that what it declares is not known.
func (in *inspector) reportHeader(f scripts.File) {
	if path.Ext(f.Path) != ".py" {
		return
	}
	if _, err := needs.ReadHeader(f.Text); err != nil {
		in.report("skill.tools.header", f.Path, 0, err.Error(), "write TOML with `dependencies` between `# /// script` and `# ///`")
	}
}

// scriptTool returns the tool of a script. Its description is its docstring, its first comment, that of its parser of
// arguments, or the sentence that names it. Its declaration has the options that its parameters are.
func scriptTool(f scripts.File, sentence string) pannier.Tool {
	name := path.Base(f.Path)
	var p pytool.Program
	if path.Ext(f.Path) == ".py" {
		p = pytool.ReadProgram(f.Text)
	}
	t := pannier.Tool{Name: name, Kind: pannier.RuntimeScript, Path: f.Path, Description: scripts.Clean(p.Docstring, name)}
	if t.Description == "" {
		t.Description = scripts.Comment(f.Path, f.Text)
	}
	if t.Description == "" {
		t.Description = cmp.Or(scripts.Clean(p.Description, name), scripts.Clean(sentence, f.Path))
	}
	if len(p.Options) == 0 {
		p.Options, p.Parameters = scripts.Arguments(f.Path, f.Text)
	}
	if len(p.Options) > 0 && len(p.Parameters) <= maxContentParameters {
		t.Parameters = p.Parameters
		t.Declaration, _ = json.Marshal(map[string]any{"options": p.Options}) // texts are always JSON
	}
	if scripts.ReadsStdin(f.Path, f.Text) {
		t.Parameters = pannier.WithStdin(t.Parameters)
	}
	return t
}

// nameScripts gives scripts with the same file name different names: the path for all but the first. Files right in scripts/
// come first, executable ones before others, then those right in tools/.
func nameScripts(found, functions []pannier.Tool, files []pannier.File) {
	taken := map[string]bool{}
	for _, t := range functions {
		taken[pannier.Slugify(t.Name)] = true
	}
	order := make([]*pannier.Tool, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	rank := func(t *pannier.Tool) int {
		inScripts := path.Dir(t.Path) == "scripts"
		switch {
		case inScripts && slices.ContainsFunc(files, func(f pannier.File) bool { return f.Path == t.Path && f.Executable }):
			return 0
		case inScripts:
			return 1
		case path.Dir(t.Path) == toolsDir:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(order, func(a, b *pannier.Tool) int { return cmp.Compare(rank(a), rank(b)) })
	for _, t := range order {
		if slug := pannier.Slugify(t.Name); taken[slug] {
			t.Name = t.Path
		}
		taken[pannier.Slugify(t.Name)] = true
	}
}
