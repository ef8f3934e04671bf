package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pannier/config"
)

// TestReferenceFile holds the commented reference that the project ships against the code: it names every setting, and
// what it gives is the defaults.
func TestReferenceFile(t *testing.T) {
	text, err := os.ReadFile("../pannier.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range config.SettingNames() {
		key := setting.Key
		name := key[strings.LastIndex(key, ".")+1:]
		if !strings.Contains(string(text), "\n"+strings.Repeat("  ", strings.Count(key, "."))+name+":") {
			t.Errorf("pannier.yaml does not name %s", key)
		}
	}
	environ := []string{"HOME=/home/nobody"}
	want, err := config.Load(nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(nil, append(environ, "PANNIER_CONFIG=../pannier.yaml"))
	if err != nil {
		t.Fatalf("the reference does not load: %v", err)
	}
	// The reference names the defaults, which is a choice all the same.
	want.Given = got.Given
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the reference gives other values than the defaults (-default +reference):\n%s", diff)
	}
}
