package admin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
)

// slowly reads one byte, then waits until it is told, or for a minute between two bytes.
type slowly struct {
	body io.Reader
	free <-chan struct{}
}

func (s slowly) Read(b []byte) (int, error) {
	select {
	case <-s.free:
		return s.body.Read(b)
	case <-time.After(time.Minute):
		return s.body.Read(b[:1])
	}
}

// TestSlowBodies do not block installations, and time out.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				src := pannier.InstallSource{Body: slowly{bytes.NewReader(skillOf("1")), nil}}
				_, _, err := w.Install(context.Background(), actor, pannier.InstallRequest{}, src)
				if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "install.body_timeout" {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all of them send
		began := time.Now()
		if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("2"))); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited > 0 { // by the clock of the bubble
			t.Errorf("an installation waited %s for others", waited)
		}
		senders.Wait()
	})
}

// TestSlowBodiesAreBounded: no more than a number of them come in at a time, and a canceled request frees its slot.
func TestSlowBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		free := make(chan struct{})
		var senders sync.WaitGroup
		for range 16 {
			senders.Go(func() {
				src := pannier.InstallSource{Body: slowly{bytes.NewReader(skillOf("1")), free}}
				if _, _, err := w.Install(context.Background(), actor, pannier.InstallRequest{}, src); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		senders.Go(func() {
			if _, _, err := w.Install(ctx, actor, pannier.InstallRequest{}, body(skillOf("1"))); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1"))); err != nil {
			t.Errorf("an upload: %v", err)
		}
		close(free)
		senders.Wait()
	})
}

// full has no room left behind the body.
type full struct{}

func (full) Read([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "body", Err: syscall.ENOSPC}
}

func TestSpoolIsFull(t *testing.T) {
	w := newWorkshop(t)
	_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, pannier.InstallSource{Body: full{}})
	if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "install.disk_full" || !strings.Contains(r.Message, "state directory") {
		t.Error(err)
	}
}

// TestOriginIsHarmless wherever it is shown: the client chooses the name of the archive.
func TestOriginIsHarmless(t *testing.T) {
	w := newWorkshop(t)
	src := body(skillOf("1"))
	src.Name = " \x1b[31mevil\n\"}" + strings.Repeat("x", 15<<10)
	if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, src); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(w.dir, "skills/.pannier/lock.json"))
	if err != nil || !strings.Contains(string(lock), `"origin": "archive:__31mevil___x`) || len(lock) > 2000 {
		t.Errorf("%s, %v", lock, err)
	}
	did := w.did()
	if strings.Contains(did, "\x1b") || strings.Contains(did, `[31m`) || len(did) > 4000 {
		t.Errorf("did\n%s", did)
	}
}

// TestPolicyOfAnotherSkill of the slug, which was shadowed, stays when the one before it is uninstalled.
func TestPolicyOfAnotherSkill(t *testing.T) {
	w := newWorkshop(t)
	key := pannier.PolicyKey{Slug: "it", SourceKind: pannier.SourceWorkspace}
	_, _, err := w.SetPolicy(t.Context(), actor, key, off)
	_, _, err2 := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1")))
	w.registry.Entries = []*pannier.Entry{{Skill: &pannier.Skill{Slug: "it", SourceKind: pannier.SourceWorkspace, Path: "skills/other"}}}
	_, s, err3 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
	if err := errors.Join(err, err2, err3); err != nil || s == nil || w.Policies()[key].IsZero() {
		t.Errorf("%v, policies %v", err, w.Policies())
	}
}

// TestLeftInStaging is told of, and the installation is made.
func TestLeftInStaging(t *testing.T) {
	w := newWorkshop(t)
	failed := errors.New("it stays")
	w.before = func(step string) error {
		if step == "staging.remove" {
			return failed
		}
		return nil
	}
	result, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1.0.0")))
	if err != nil || len(result.Problems) != 1 || result.Problems[0].Code != "install.left_behind" || !strings.Contains(result.Problems[0].Message, "it stays") {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestDryRunMakesNothing in the workspace, not even what is pannier's own.
func TestDryRunMakesNothing(t *testing.T) {
	w := newWorkshop(t)
	_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{DryRun: true}, body(skillOf("1")))
	_, _, err2 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it", DryRun: true})
	if _, made := os.Lstat(filepath.Join(w.dir, "skills", pannier.OwnDir)); errors.Join(err, err2) != nil || !errors.Is(made, os.ErrNotExist) {
		t.Errorf("%v, %v, made %v", err, err2, made)
	}
}
