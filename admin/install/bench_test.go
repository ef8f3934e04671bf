package install_test

import (
	"fmt"
	"testing"

	"pannier"
)

// BenchmarkInstall stages and installs a skill of 10 files and 100 KB, and uninstalls it outside of the measure.
func BenchmarkInstall(b *testing.B) {
	dir := workspace(b, listing)
	s := open(b, optionsFor(dir))
	files := skillOf("pdf", "1.0.0")
	for n := len(files); n < 10; n++ {
		files[fmt.Sprintf("references/%d.txt", n)] = string(make([]byte, 14_600))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := put(b.Context(), s, files, pannier.InstallRequest{}, false); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := uninstall(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
