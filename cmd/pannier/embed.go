package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
	"pannier/publish/platform/devplatform"
)

// embedPlatform starts a development platform in this process, seeds the workspace in it, and points the settings at it.
// The token that it returns never leaves the process.
func embedPlatform(all *parts, s *config.Settings, log hclog.Logger) (token string, err error) {
	dev := devplatform.New(devplatform.Options{Logger: log})
	if token, err = dev.Seed(s.Platforms[0].WorkspaceID, ""); err != nil {
		dev.Close()
		return "", &exitError{code: exitUnknown, message: "embedded platform: " + err.Error(), hint: "give a UUID with --workspace-id, a platform with --platform-url, or push nothing with --platform-url=off"}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		dev.Close()
		return "", fmt.Errorf("embedded platform: %w", err)
	}
	s.Platforms[0].URL = "http://" + ln.Addr().String()
	all.do("development platform", func(ctx context.Context) error { return servePlatform(ctx, ln, dev) })
	log.Info("embedded development platform", "url", s.Platforms[0].URL, "workspace_id", s.Platforms[0].WorkspaceID)
	return token, nil
}

// servePlatform answers for a development platform until ctx is done.
func servePlatform(ctx context.Context, ln net.Listener, dev *devplatform.Platform) error {
	server := &http.Server{Handler: dev, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	defer dev.Close()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("development platform: %w", err)
	}
	return nil
}
