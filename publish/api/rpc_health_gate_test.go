package api_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/publish/rpc"
)

// TestTrustGate tells of each kind of tool the stricter of what the settings ask and what the kind takes.
func TestTrustGate(t *testing.T) {
	for _, tt := range []struct {
		minimum, trust pannier.Trust
		want           string
	}{
		{pannier.TrustUntrusted, pannier.TrustCommunity, `{"tool_kind":"shell","minimum_trust":"trusted","allowed":false},{"tool_kind":"http","minimum_trust":"community","allowed":true}`},
		{pannier.TrustUntrusted, pannier.TrustVerified, `{"tool_kind":"shell","minimum_trust":"trusted","allowed":true},{"tool_kind":"http","minimum_trust":"community","allowed":true}`},
		{pannier.TrustVerified, pannier.TrustCommunity, `{"tool_kind":"shell","minimum_trust":"trusted","allowed":false},{"tool_kind":"http","minimum_trust":"trusted","allowed":false}`},
	} {
		h := newHouse()
		h.snapshot.Entries[0].TrustLevel = tt.trust
		h.skills = rpc.Skills{MinimumTrust: tt.minimum, ToolTrust: func(kind pannier.RuntimeToolKind) pannier.Trust {
			return map[pannier.RuntimeToolKind]pannier.Trust{pannier.RuntimeShell: pannier.TrustVerified, pannier.RuntimeHTTP: pannier.TrustCommunity}[kind]
		}}
		got := ask(h.handler(), "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/health","params":{"skills":[{"slug":"alpha"}]}}`).Body.String()
		if !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
