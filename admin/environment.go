package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pannier"
)

// The bucket and the key of the environment in the state store.
const (
	bucketEnvironment = "environment"
	keyAgent          = "agent"
)

// environmentIntent is the audited intent of a new environment: counts and digests instead of names.
type environmentIntent struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Bins   names  `json:"bins"`
	Env    names  `json:"env"`
	Config names  `json:"config"`
	MCP    names  `json:"mcp"`
}

// names has the number of names and the digest of the names joined by line feeds.
type names struct {
	Count  int            `json:"count"`
	Digest pannier.Digest `json:"digest,omitzero"`
}

type environmentOutcome struct {
	Changed bool `json:"changed"`
}

// Environment returns the environment that the agent reported last, and false if it has reported none.
func (s *Service) Environment() (env pannier.Environment, found bool, err error) {
	found, err = s.o.Values.Get(bucketEnvironment, keyAgent, &env)
	if err != nil || !found {
		return pannier.Environment{}, false, err
	}
	return env, true, nil
}

// PutEnvironment stores what the agent's container offers and returns it as stored: normalized, with the agent as its
// source, and with the current time if its own is missing or in the future. The registry decides whether it is in
// effect, because the environment file can be newer, and emits the event.
func (s *Service) PutEnvironment(ctx context.Context, actor pannier.Actor, env pannier.Environment) (pannier.Environment, *pannier.Snapshot, error) {
	env, err := env.Normalized()
	if err != nil {
		return pannier.Environment{}, nil, err
	}
	env.Source, env.Lenient = pannier.EnvironmentAgent, false
	now := time.Now().UTC().Round(0)
	if env.At = env.At.UTC(); env.At.IsZero() || env.At.After(now) {
		env.At = now
	}
	entry := pannier.AuditEntry{Action: pannier.ActionPutEnvironment, Actor: actor, Detail: environmentIntent{
		OS: env.OS, Arch: env.Arch,
		Bins: namesOf(env.Bins), Env: namesOf(env.Env), Config: namesOf(env.Config), MCP: namesOf(env.MCP),
	}}
	snapshot, err := s.mutate(ctx, entry, func() (outcome, error) {
		before, found, err := s.Environment()
		if err != nil {
			s.o.Logger.Warn("reading the stored environment failed; replacing it", "error", err)
		}
		if err := s.o.Values.Put(bucketEnvironment, keyAgent, env); err != nil {
			return outcome{}, err
		}
		changed := !found || !before.SameFacts(env)
		return outcome{snapshot: s.o.SetEnvironment(env), detail: environmentOutcome{changed}}, nil
	})
	if err != nil {
		return pannier.Environment{}, nil, fmt.Errorf("put the environment: %w", err)
	}
	return env, snapshot, nil
}

func namesOf(list []string) names {
	if len(list) == 0 {
		return names{}
	}
	return names{len(list), pannier.DigestOf([]byte(strings.Join(list, "\n")))}
}
