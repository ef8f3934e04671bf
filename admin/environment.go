package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pannier"
)

// Where the environment lies in the state store.
const (
	bucketEnvironment = "environment"
	keyAgent          = "agent"
)

// environmentIntent is what the audit log says of an environment: which it was, without all of its names.
type environmentIntent struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Bins   names  `json:"bins"`
	Env    names  `json:"env"`
	Config names  `json:"config"`
	MCP    names  `json:"mcp"`
}

// names is how many there are, and the digest of them with a line feed between each two.
type names struct {
	Count  int            `json:"count"`
	Digest pannier.Digest `json:"digest,omitzero"`
}

// environmentOutcome says whether it was another one than before.
type environmentOutcome struct {
	Changed bool `json:"changed"`
}

// Environment returns what the agent put last, for the registry to begin with, and false where it never did.
func (d *Service) Environment() (env pannier.Environment, found bool, err error) {
	found, err = d.o.Values.Get(bucketEnvironment, keyAgent, &env)
	if err != nil || !found {
		return pannier.Environment{}, false, err
	}
	return env, true, nil
}

// PutEnvironment takes in what the agent's container offers, and returns it as it is kept: in its normal form, from the
// agent, and with the time of now where it has none or one that is still to come. Whether skills are judged by it is decided
// by the registry's side, which may know of a newer one, and which tells of a change by an event: the file of the
// environment changes without coming by this door.
func (d *Service) PutEnvironment(ctx context.Context, actor pannier.Actor, env pannier.Environment) (pannier.Environment, *pannier.Snapshot, error) {
	env, err := env.Normalized()
	if err != nil {
		return pannier.Environment{}, nil, err
	}
	env.Source, env.Lenient = pannier.EnvironmentAgent, false
	now := time.Now().UTC().Round(0)
	if env.At = env.At.UTC(); env.At.IsZero() || env.At.After(now) {
		env.At = now
	}
	entry := pannier.AuditEntry{Action: pannier.ActionPutEnvironment, Actor: actor, Detail: intentOf(env)}
	snapshot, err := d.mutate(ctx, entry, func() (done, error) { return d.putEnvironment(env) })
	if err != nil {
		return pannier.Environment{}, nil, fmt.Errorf("put the environment: %w", err)
	}
	return env, snapshot, nil
}

func (d *Service) putEnvironment(env pannier.Environment) (done, error) {
	before, found, err := d.Environment()
	if err != nil {
		d.o.Logger.Warn("the environment that is kept can not be read; it is replaced", "error", err)
	}
	if err := d.o.Values.Put(bucketEnvironment, keyAgent, env); err != nil {
		return done{}, err
	}
	changed := !found || !before.SameFacts(env)
	return done{snapshot: d.o.SetEnvironment(env), detail: environmentOutcome{changed}}, nil
}

func intentOf(env pannier.Environment) environmentIntent {
	return environmentIntent{
		OS: env.OS, Arch: env.Arch,
		Bins: namesOf(env.Bins), Env: namesOf(env.Env), Config: namesOf(env.Config), MCP: namesOf(env.MCP),
	}
}

func namesOf(list []string) names {
	if len(list) == 0 {
		return names{}
	}
	return names{len(list), pannier.DigestOf([]byte(strings.Join(list, "\n")))}
}
