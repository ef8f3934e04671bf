package config

import (
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
)

// maxWebConfig bounds the file of web_config, in bytes.
const maxWebConfig = 1 << 20

// HasTLS reports whether a file of exporter-toolkit, which is valid, names a certificate. An empty path names none.
func HasTLS(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	text, err := fsx.ReadAtMost(path, maxWebConfig)
	if err != nil {
		return false, err
	}
	doc, _, err := yamldoc.Parse(text)
	if err != nil {
		return false, err
	}
	for _, key := range []string{"cert_file", "cert"} {
		if name, ok := doc.Get("tls_server_config").Get(key).Text(); ok && name != "" {
			return true, nil
		}
	}
	return false, nil
}
