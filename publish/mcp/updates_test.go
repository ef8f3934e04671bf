package mcp_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// TestChecksCompareASkillOnce subscribes to many files of one skill: a check reads one manifest, and lists do not wait for it.
func TestChecksCompareASkillOnce(t *testing.T) {
	const files = 200
	s := newShop(t, "a")
	for i := range files {
		s.write(fmt.Sprintf("a/f%04d", i), "x")
	}
	var compared atomic.Int64
	var slow atomic.Bool
	hold := make(chan struct{})
	s.Manifest = func(ctx context.Context, skill *pannier.Skill, age time.Duration) (pannier.Manifest, error) {
		if age == 0 {
			compared.Add(1)
			if slow.Load() {
				select {
				case <-hold:
				case <-ctx.Done():
					return pannier.Manifest{}, ctx.Err()
				}
			}
		}
		return s.manifest(ctx, skill, age)
	}
	client := s.serve(t)
	updated, lists := make(chan string, files), make(chan struct{}, 8)
	host := connect(t, client, withSessions, &sdk.ClientOptions{
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { lists <- struct{}{} },
	})
	for i := range files {
		if err := host.Subscribe(t.Context(), &sdk.SubscribeParams{URI: fmt.Sprintf("skill://a/f%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := compared.Load(); n > 10 {
		t.Errorf("%d subscriptions compared the skill %d times", files, n)
	}
	eventually(t, "the check after the subscriptions", func() bool { return compared.Load() > 0 })
	before := compared.Load()
	for i := range files {
		s.write(fmt.Sprintf("a/f%04d", i), "y")
	}
	s.server.Touched()
	for range files {
		<-updated
	}
	if n := compared.Load() - before; n > 3 {
		t.Errorf("one change compared the skill %d times", n)
	}
	slow.Store(true)
	s.server.Touched()
	for range 2 { // each while a check is under way
		s.write("a/SKILL.md", "---\nname: a\ndescription: About a.\n---\n"+time.Now().String())
		s.set("a")
		select {
		case <-lists:
		case <-time.After(10 * time.Second):
			t.Fatal("list_changed waits for the check of files")
		}
	}
	close(hold)
}

// TestSubscriptionIsRechecked: a digest that was too old when the host subscribed is noticed without another change.
func TestSubscriptionIsRechecked(t *testing.T) {
	s := newShop(t, "a")
	s.write("a/x", "old")
	old, _ := s.manifest(t.Context(), s.snapshot.Entries[0].Skill, 0)
	s.write("a/x", "new")
	s.Manifest = func(ctx context.Context, skill *pannier.Skill, age time.Duration) (pannier.Manifest, error) {
		if age > 0 {
			return old, nil
		}
		return s.manifest(ctx, skill, age)
	}
	updated := make(chan string, 4)
	host := connect(t, s.serve(t), withSessions, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	if err := host.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "skill://a/x"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-updated:
	case <-time.After(10 * time.Second):
		t.Error("the host was not told")
	}
}

// TestSubscribeToUnlistedFiles of a skill whose manifest lists none, up to the bound.
func TestSubscribeToUnlistedFiles(t *testing.T) {
	s := newShop(t, "a")
	for i := range 65 {
		s.write(fmt.Sprintf("a/f%d", i), "x")
	}
	s.Manifest = func(ctx context.Context, skill *pannier.Skill, age time.Duration) (pannier.Manifest, error) {
		m, err := s.manifest(ctx, skill, age)
		m.Dynamic, m.Files = true, m.Files[:1] // SKILL.md
		return m, err
	}
	updated := make(chan string, 4)
	host := connect(t, s.serve(t), withSessions, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	for i := range 65 {
		err := host.Subscribe(t.Context(), &sdk.SubscribeParams{URI: fmt.Sprintf("skill://a/f%d", i)})
		if (err != nil) != (i == 64) {
			t.Fatal(i, err)
		}
	}
	if err := host.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "skill://a/none"}); err == nil {
		t.Error("a file that does not exist can be subscribed to")
	}
	s.write("a/f7", "other")
	s.server.Touched()
	if got := <-updated; got != "skill://a/f7" {
		t.Error(got)
	}
}
