package main

import (
	"bufio"
	"context"
	"errors"
	"html"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"pannier"
	"pannier/console"
	"pannier/console/gateway"
	"pannier/publish/client"
)

// consoleFlags are those of `pannier console` alone.
type consoleFlags struct {
	noOpen, readOnly bool
	port             uint16
}

func (p *program) consoleCommand() *cobra.Command {
	var flags consoleFlags
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the console in a browser",
		Long: `Serves the console on a loopback port, forwards it to the sidecar, and opens it in a browser. It
ends with Ctrl-C, and all pages with it. The pages may do what the user of this command may.

The link has a code that works once, within a minute. Press Enter for a new link.

Over SSH, choose a port and forward it:
  ssh -L 7788:127.0.0.1:7788 HOST pannier console --listen-port 7788`,
		Example: `  pannier console --workspace ./agent
  pannier console --read-only --no-open
  pannier console --url https://agent.example:7443 --token-file agent.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			defer stop()
			return p.serveConsole(ctx, flags)
		},
	}
	cmd.Flags().BoolVar(&flags.noOpen, "no-open", false, "print the link, and open no browser")
	cmd.Flags().BoolVar(&flags.readOnly, "read-only", false, "let the pages change nothing")
	cmd.Flags().Uint16Var(&flags.port, "listen-port", 0, "loopback `port` of the page (default: a free one)")
	return p.share(cmd, asksSidecar...)
}

func (p *program) serveConsole(ctx context.Context, flags consoleFlags) error {
	endpoint, given, err := p.endpoint(ctx)
	if err != nil {
		return err
	}
	shown, err := shellFlags(given)
	if err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "console", Output: p.err, Level: hclog.Warn})
	g, who, err := gateway.New(ctx, gateway.Options{Sidecar: endpoint, ReadOnly: flags.readOnly, Flags: shown, Logger: log})
	if errors.Is(err, client.ErrNoSidecar) {
		return &exitError{exitNoSidecar, "no sidecar answers any more", startHint}
	}
	if err != nil {
		return failure(err.Error(), gateway.Hint(err))
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), flags.port).String())
	if err != nil {
		g.Close()
		return failure(err.Error(), "choose another port with --listen-port")
	}
	page := consolePage{g, "http://" + ln.Addr().String() + console.Path}
	forget := p.showConsole(page, who, flags)
	defer forget()
	if isTerminal(os.Stdin) {
		go func() { // prints a new link for each line; where it waits for one, it ends with the process
			for lines := bufio.NewScanner(io.LimitReader(os.Stdin, 1<<20)); lines.Scan() && ctx.Err() == nil; {
				_ = sayf(p.out, "%s", page.link())
			}
		}()
	}
	return g.Serve(ctx, ln, log)
}

// endpoint returns where the sidecar of a command takes connections, and the names and values of the flags that lead there.
func (p *program) endpoint(ctx context.Context) (e client.Endpoint, flags []string, err error) {
	if remote := p.remote.or(p.environ); remote.url != "" {
		e, err = reached(remote, client.Remote.Endpoint)
		return e, []string{"url", remote.url, "token-file", remote.tokenFile, "ca-file", remote.caFile}, err
	}
	s, err := p.settings()
	if err != nil {
		return e, nil, err
	}
	c, err := p.reach(ctx, s)
	if errors.Is(err, client.ErrNoSidecar) {
		err = noSidecar(s)
	}
	if err != nil {
		return e, nil, err
	}
	c.Close()
	return client.SocketEndpoint(s.Socket.Path), []string{"socket", s.Socket.Path}, nil
}

// shellFlags returns names and values as flags that a shell reads the same in any directory, without those that have no value.
func shellFlags(flags []string) (string, error) {
	var words []string
	for i := 0; i < len(flags); i += 2 {
		if flags[i+1] == "" {
			continue
		}
		args, err := shownArguments(flags[i], flags[i+1], false)
		if err != nil {
			return "", err
		}
		for _, arg := range args {
			words = append(words, quoteWord(arg))
		}
	}
	return strings.Join(words, " "), nil
}

// consolePage is a page that can be opened.
type consolePage struct {
	gateway *gateway.Gateway
	address string
}

// link returns an address that opens the page once. The code is in the fragment, which no server and no log gets.
func (c consolePage) link() string { return c.address + "#code=" + c.gateway.Code() }

// showConsole prints how the page is reached, and opens it. The caller calls forget when nothing is to be opened any more.
func (p *program) showConsole(page consolePage, who pannier.Session, flags consoleFlags) (forget func()) {
	rights := "may change everything"
	if !who.Write {
		rights = "may read, and change nothing"
		if slices.Contains(who.Scopes, "environment") {
			rights = "may read, and change no skill"
		}
	}
	_ = sayf(p.err, "console of %s, as %s: %s", who.Workspace, who.Name, rights)
	_ = sayf(p.out, "%s", page.link())
	if flags.noOpen {
		return func() {}
	}
	forget, err := p.openBrowser(page)
	if err != nil {
		_ = sayf(p.err, "no browser was opened: %s; open the link yourself", err)
		return func() {}
	}
	return forget
}

// openBrowser opens the page by a file that only this user can read: the arguments of a process are seen by every user of the
// machine, and the code must not be. forget removes the file.
func (p *program) openBrowser(page consolePage) (forget func(), err error) {
	program, err := p.browser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pannier-console-")
	if err != nil {
		return nil, err
	}
	forget = func() { os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	link := html.EscapeString(page.link())
	text := `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>pannier</title>` +
		`<meta http-equiv="refresh" content="0;url=` + link + `"></head><body><p><a href="` + link + `">Open the console</a></p></body></html>` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		forget()
		return nil, err
	}
	cmd := exec.Command(program, file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the browser outlives this command
	if err := cmd.Start(); err != nil {
		forget()
		return nil, err
	}
	go func() { _ = cmd.Wait() }() // what the browser says at its end does not matter
	return forget, nil
}

// browser returns the program that opens pages.
func (p *program) browser() (string, error) {
	if chosen := variable(p.environ, "BROWSER"); chosen != "" && !strings.ContainsAny(chosen, ":% ") {
		return exec.LookPath(chosen)
	}
	if variable(p.environ, "DISPLAY") == "" && variable(p.environ, "WAYLAND_DISPLAY") == "" {
		return "", errors.New("there is no desktop")
	}
	return exec.LookPath("xdg-open")
}
