package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
)

// TestPromote records a packet in the audit log and as an event, and tells the platforms.
func TestPromote(t *testing.T) {
	packet, err := pannier.ParsePromotion([]byte(`{"promote_to_skill": true, "summary": "Deploys the docs", "repetition_signal": {"count": 3}, "secret": "s"}`))
	if err != nil {
		t.Fatal(err)
	}
	var h *fixture
	ctx, cancel := context.WithCancel(t.Context())
	h = newFixture(t, t.TempDir(), func(o *admin.Options) {
		o.Activity = func(ctx context.Context, p pannier.Promotion) []pannier.ActivityResult {
			cancel() // the client has disconnected
			h.note("tell %s", p.Summary)
			if ctx.Err() != nil {
				t.Error("it ends with its caller")
			}
			return []pannier.ActivityResult{{Platform: "one"}, {Platform: "two", Error: "404"}}
		}
	})
	recorded, err := h.Promote(ctx, actor, packet)
	if err != nil || len(recorded.Platforms) != 2 || recorded.Digest != pannier.DigestOf(packet.Packet) {
		t.Fatalf("%+v, %v", recorded, err)
	}
	text, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"audit intent", "tell Deploys the docs", "audit outcome", "emit skill_promotion " + string(text)}, h.happened); diff != "" {
		t.Errorf("want -, did +:\n%s", diff)
	}
	digest := recorded.Digest.String()
	want := `1 intent of 0 skill.promote  {"summary":"Deploys the docs","digest":"` + digest + `"} 0
2 outcome of 1 skill.promote  {"summary":"Deploys the docs","digest":"` + digest + `","platforms":[{"platform":"one"},{"platform":"two","error":"404"}]} 0`
	if diff := cmp.Diff(want, h.audited(t)); diff != "" {
		t.Errorf("audit log, want -, got +:\n%s", diff)
	}
}

// TestPromotionThatIsNotAudited is not reported.
func TestPromotionThatIsNotAudited(t *testing.T) {
	h := newFixture(t, t.TempDir(), func(o *admin.Options) {
		o.Activity = func(context.Context, pannier.Promotion) []pannier.ActivityResult {
			t.Error("a platform was told")
			return nil
		}
	})
	h.unaudited = pannier.AuditIntent
	if _, err := h.Promote(t.Context(), actor, pannier.Promotion{Packet: json.RawMessage(`{}`)}); !errors.Is(err, pannier.ErrNotAudited) || len(h.happened) != 1 {
		t.Errorf("%v, did %q", err, h.happened)
	}
}

// TestPromotionWithoutPlatforms is recorded all the same.
func TestPromotionWithoutPlatforms(t *testing.T) {
	h := newFixture(t, t.TempDir())
	if recorded, err := h.Promote(t.Context(), actor, pannier.Promotion{Packet: json.RawMessage(`{}`), Summary: "x"}); err != nil || recorded.Platforms != nil || len(h.happened) != 3 {
		t.Errorf("%+v, %v, did %q", recorded, err, h.happened)
	}
}
