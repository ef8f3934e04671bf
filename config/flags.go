package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags registers the flag of every setting, and --config. What the flags hold is judged by [Load], so that it can
// tell all faults at once.
func AddFlags(fs *pflag.FlagSet) {
	addFlag(fs, &configFile)
	for i := range table {
		addFlag(fs, &table[i])
	}
}

func addFlag(fs *pflag.FlagSet, s *setting) {
	f := fs.VarPF(&flagTexts{kind: s.kind}, s.flag(), "", s.usage())
	if s.kind == kindBool {
		f.NoOptDefVal = "true"
	}
}

// NamesOfFlag returns the variable, and the key in the settings file, of the setting with a flag.
func NamesOfFlag(flag string) (variable, key string, ok bool) {
	if i := withFlag(flag); i >= 0 {
		return table[i].variable(), table[i].key, true
	}
	return "", "", false
}

// Words returns the values that the setting with a flag can have; nil if these are not a few words.
func Words(flag string) []string {
	if i := withFlag(flag); i >= 0 {
		return slices.Clone(table[i].words)
	}
	return nil
}

func withFlag(flag string) int {
	return slices.IndexFunc(table, func(s setting) bool { return s.flag() == flag })
}

// flagTexts collects what a flag is given. It implements [pflag.Value].
type flagTexts struct {
	kind  string
	texts []string
}

// Set implements [pflag.Value].
func (f *flagTexts) Set(text string) error {
	f.texts = append(f.texts, text)
	return nil
}

// GetSlice returns what the flag is given, as [pflag.SliceValue] has it.
func (f *flagTexts) GetSlice() []string { return slices.Clone(f.texts) }

// String implements [pflag.Value].
func (f *flagTexts) String() string { return strings.Join(f.texts, ",") }

// Type implements [pflag.Value]; help shows it in place of the value.
func (f *flagTexts) Type() string { return f.kind }

func flagGiven(fs *pflag.FlagSet, s *setting) (given, bool) {
	if fs == nil {
		return given{}, false
	}
	f := fs.Lookup(s.flag())
	if f == nil || !f.Changed {
		return given{}, false
	}
	texts := []string{f.Value.String()}
	if value, ok := f.Value.(*flagTexts); ok {
		texts = value.texts
	}
	return given{name: "--" + f.Name, texts: texts}, true
}
