package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin/changes"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/api"
	"pannier/publish/client"
	"pannier/sidecar"
)

// reading runs a command that reads. Without a sidecar it reads the directory itself, by the same code.
func (p *program) reading(ctx context.Context, do request) error {
	return p.askingOr(ctx, do, func(s config.Settings) error {
		if err := requireDirectory(s); err != nil {
			return err
		}
		d, err := sidecar.ReadDirectory(ctx, sidecar.DirectoryOptions{
			Settings: s, Environ: p.environ, Policies: changes.ReadPolicies(sidecar.StateDirectory(s)), Brief: p.listing && !p.json,
		})
		if err != nil {
			return err
		}
		c := client.InProcess(d.Handler)
		defer c.Close()
		return negative(do(ctx, c))
	})
}

// asking runs a command that needs a sidecar.
func (p *program) asking(ctx context.Context, do request) error {
	return p.askingOr(ctx, do, noSidecar)
}

const startHint = "start one with `pannier run`, or name its socket with --socket"

func noSidecar(s config.Settings) error {
	return &exitError{exitNoSidecar, "no sidecar for this workspace answers at " + s.Socket.Path, startHint}
}

// askingOr asks the sidecar at --url, or the sidecar of the workspace. If no sidecar runs, it calls without.
func (p *program) askingOr(ctx context.Context, do request, without func(config.Settings) error) error {
	if asked, err := p.askRemote(ctx, do); asked {
		return err
	}
	s, err := p.settings()
	if err != nil {
		return err
	}
	c, err := p.reach(ctx, s)
	if errors.Is(err, client.ErrNoSidecar) {
		return without(s)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return negative(do(ctx, c))
}

const reachTimeout = 5 * time.Second

// reach returns a client of the sidecar that runs for the workspace, or an error that is [client.ErrNoSidecar]. Where
// the settings name no workspace, it accepts that of the sidecar.
func (p *program) reach(ctx context.Context, s config.Settings) (*client.Client, error) {
	c := client.New(s.Socket.Path)
	asking, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	err := c.IsRunning(asking)
	var h pannier.Health
	if err == nil && s.Given.Workspace { // health alone says which workspace is served
		h, err = c.Health(asking)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = failure(fmt.Sprintf("the sidecar at %s does not answer within %s", s.Socket.Path, reachTimeout),
			"check its log; restarting it is safe")
	}
	if errors.Is(err, os.ErrPermission) {
		err = failure(err.Error(), "run as the user or the group of the socket")
	}
	if err == nil && s.Given.Workspace && !samePath(h.Workspace, s.Workspace) {
		err = fmt.Errorf("%w for %s: the one at %s serves %s", client.ErrNoSidecar, s.Workspace, s.Socket.Path, h.Workspace)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func samePath(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
}

func requireDirectory(s config.Settings) error {
	if info, err := os.Stat(s.Workspace); err == nil && info.IsDir() {
		return nil
	}
	return failure("no sidecar answers at "+s.Socket.Path+", and "+s.Workspace+" is not a directory",
		"name the agent's configuration directory with --workspace, or the sidecar's socket with --socket")
}

var negativeAnswers = []int{
	http.StatusNotFound, http.StatusConflict, http.StatusForbidden, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnprocessableEntity,
}

func negative(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	code := exitUnknown
	if slices.Contains(negativeAnswers, e.Status) {
		code = exitNo
	}
	return &exitError{code: code, message: plain.Text(e.Detail), hint: e.Hint}
}

// changing runs a command that changes the workspace. Without a sidecar it changes the directory itself, by the same code.
func (p *program) changing(ctx context.Context, do request) error {
	return p.askingOr(ctx, do, func(s config.Settings) error {
		if err := requireDirectory(s); err != nil {
			return err
		}
		log := hclog.New(logOptions(s, p.err))
		log.SetLevel(hclog.Error) // the result reports success
		// The state of the workspace is locked, so that the change is audited and no sidecar starts meanwhile.
		handler, end, err := sidecar.ChangeDirectory(ctx, s, p.environ, changes.Module, log)
		if err != nil {
			return err
		}
		defer end()
		here := client.InProcess(api.AsOwn(handler))
		defer here.Close()
		return negative(do(ctx, here))
	})
}
