package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"pannier"
	"pannier/publish/client"
)

func TestScan(t *testing.T) {
	asked := ""
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		fmt.Fprint(w, `{"slug":"pdf","decision":"warn","findings":[{"rule":"scan.path.hidden"}],"files":2}`)
	})
	both(t, h, func(t *testing.T, c *client.Client) {
		for _, tt := range []struct {
			slug, path string
			req        pannier.ScanRequest
			want       string
		}{
			{"pdf", "", pannier.ScanRequest{}, "POST /v1/skills/pdf/scan"},
			{"pdf", "", pannier.ScanRequest{Withdraw: true}, "POST /v1/skills/pdf/scan?accept=none"},
			{"pdf", "", pannier.ScanRequest{Accept: pannier.AcceptRequest{Rules: []string{"scan.a", "scan.b"}, Reason: "it is ours"}}, "POST /v1/skills/pdf/scan?accept=scan.a%2Cscan.b&reason=it+is+ours"},
			{"acme/pdf", "", pannier.ScanRequest{}, "POST /v1/skills/acme%2Fpdf/scan"},
			{"..", "extra/p d&f", pannier.ScanRequest{}, "POST /v1/skills/%2E%2E/scan?path=extra%2Fp+d%26f"},
		} {
			report, err := c.Scan(t.Context(), tt.slug, tt.path, tt.req)
			if err != nil || report.Slug != "pdf" || report.Files != 2 || len(report.Findings) != 1 {
				t.Errorf("%s: %+v, %v", tt.slug, report, err)
			}
			if asked != tt.want {
				t.Errorf("asked %s, want %s", asked, tt.want)
			}
		}
	})
}
