package molecule_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefusedCardThatIsAskedForOften is tried once in two seconds, and the last time that it is asked for counts.
func TestRefusedCardThatIsAskedForOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(400, ""))
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		for range 60 {
			p.Retry()
			pass(50 * time.Millisecond)
		}
		pass(time.Minute)
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 2 * time.Second}, w.gaps()); diff != "" {
			t.Errorf("tries apart (-want +got):\n%s", diff)
		}
		p.Retry()
		synctest.Wait()
		p.Retry()
		p.Offer(cardOf("b"))
		synctest.Wait()
		if got := w.cards(); got != "a a a a b" {
			t.Errorf("pushed %q, want a once more and then b, both at once", got)
		}
	})
}

// TestRefusedCardWithKeysOfOthers: the hint names how much of it is theirs.
func TestRefusedCardWithKeysOfOthers(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		for _, test := range []struct {
			registered string
			told       bool
		}{
			{`{"name":"boot","poison":"xxxxxxxxxx"}`, true}, // 21 bytes, and a comma before them
			{`{"name":"boot"}`, false},
		} {
			synctest.Test(t, func(t *testing.T) {
				m := newMolecule(t).known(t)
				m.register(t, test.registered)
				m.set(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost {
						return respond(status, "")
					}
					return nil, nil
				})
				p := facing(t, m, options{ReadBack: true})
				start(t, offered(p, "a"))
				synctest.Wait()
				h := p.Health()
				told, other := strings.Contains(h.Hint, " 22 bytes of keys"), strings.Count(h.Hint, "bytes of keys")
				if told != test.told || !told && other > 0 || !h.Blocked {
					t.Errorf("%d: health %+v", status, h)
				}
			})
		}
	}
}

// TestTokenFileOfAnotherUser names its owner, who writes it again at each start.
func TestTokenFileOfAnotherUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".auth_token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Getuid()
	if owner == 0 {
		owner = 1000
		if err := os.Chown(file, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{file: fmt.Sprintf("run pannier as uid %d, which owns", owner), file + "/no": "make the token file readable"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLive(t)
			p := on(t, l, options{Token: func() (string, error) {
				return "", &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
			}})
			stop := start(t, offered(p, "a"))
			pass(time.Second)
			if h := p.Health(); !strings.HasPrefix(h.Hint, want) {
				t.Errorf("hint %q, want %q", h.Hint, want)
			}
			stop()
		})
	}
}
