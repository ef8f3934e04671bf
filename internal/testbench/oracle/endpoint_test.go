package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pannier/internal/testbench/oracle"
	"pannier/publish/molecule"
)

const (
	workspaceID = "6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11"
	authToken   = "oracle-token"
)

func newEndpoint(t *testing.T, judge func(json.RawMessage) error) *oracle.Endpoint {
	t.Helper()
	e, err := oracle.NewEndpoint(workspaceID, authToken, judge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// push sends a card and returns the status, or 0 where there is no answer.
func push(t *testing.T, e *oracle.Endpoint, card string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	body := `{"workspace_id":"` + workspaceID + `","agent_card":` + card + `}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL()+molecule.PathUpdateCard, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+authToken)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func TestEndpointRemembersCards(t *testing.T) {
	e := newEndpoint(t, nil)
	if err := e.Holds([]byte(`{}`)); err == nil {
		t.Error("an endpoint without a card holds one")
	}
	for _, card := range []string{`{"name":"a"}`, `{"name":"b"}`} {
		if status := push(t, e, card); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if err := e.Holds([]byte(` { "name" : "b" } `)); err != nil {
		t.Error(err)
	}
	if e.Holds([]byte(`{"name":"a"}`)) == nil {
		t.Error("the endpoint holds an old card")
	}
	if cards := e.Cards(); len(cards) != 2 || string(cards[0]) != `{"name":"a"}` {
		t.Errorf("cards %s", cards)
	}
	if got, want := e.Counts(), (oracle.Counts{Updates: 2, Acknowledged: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestEndpointCountsRepeatedCards(t *testing.T) {
	e := newEndpoint(t, nil)
	push(t, e, `{"name":"a"}`)
	push(t, e, `{"name":"a"}`)
	if got := e.Counts().Repeated; got != 1 {
		t.Errorf("%d repeated, want 1", got)
	}
	e.Excuse()
	push(t, e, `{"name":"a"}`)
	if got := e.Counts().Repeated; got != 1 {
		t.Errorf("%d repeated after an excuse, want 1", got)
	}
}

// TestEndpointExcusesDoubt has a card fail without a word whether it was taken in: then the one before may come again.
func TestEndpointExcusesDoubt(t *testing.T) {
	for _, fault := range oracle.Faults() {
		for failed, doubt := range map[string]bool{`{"name":"a"}`: false, `{"name":"b"}`: true} {
			e := newEndpoint(t, nil)
			push(t, e, `{"name":"a"}`)
			if err := e.Set(fault); err != nil {
				t.Fatal(err)
			}
			push(t, e, failed)
			if err := e.Set(oracle.Up); err != nil {
				t.Fatal(err)
			}
			push(t, e, `{"name":"a"}`)
			want := 1
			switch fault {
			case oracle.Broken, oracle.Hang, oracle.Reset:
				if doubt {
					want = 0
				}
			case oracle.ResetAfter:
				want = 0
			}
			if got := e.Counts().Repeated; got != want {
				t.Errorf("%v of %s: %d repeated, want %d", fault, failed, got, want)
			}
		}
	}
}

func TestEndpointFails(t *testing.T) {
	for _, fault := range oracle.Faults() {
		t.Run(fault.String(), func(t *testing.T) {
			e := newEndpoint(t, nil)
			if err := e.Set(fault); err != nil {
				t.Fatal(err)
			}
			status := push(t, e, `{"name":"lost"}`)
			want := map[oracle.Fault]int{oracle.Broken: http.StatusInternalServerError, oracle.Busy: http.StatusTooManyRequests}[fault]
			if status != want {
				t.Errorf("status %d, want %d", status, want)
			}
			if took := e.Holds([]byte(`{"name":"lost"}`)) == nil; took != (fault == oracle.ResetAfter) {
				t.Errorf("the card was taken in: %t", took)
			}
			if err := e.Set(oracle.Up); err != nil {
				t.Fatal(err)
			}
			if status := push(t, e, `{"name":"lost"}`); status != http.StatusOK {
				t.Errorf("status %d after the fault", status)
			}
			if got := e.Counts(); got.Acknowledged != 1 || got.Repeated != 0 {
				t.Errorf("counts %+v", got)
			}
		})
	}
}

func TestJudgeIsHeard(t *testing.T) {
	e := newEndpoint(t, func(card json.RawMessage) error {
		if strings.Contains(string(card), "bad") {
			return errors.New("never was")
		}
		return nil
	})
	push(t, e, `{"name":"good"}`)
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	push(t, e, `{"name":"bad"}`)
	if err := e.Err(); err == nil || err.Error() != "card 2: never was" {
		t.Errorf("error %v", err)
	}
}
