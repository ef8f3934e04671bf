package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier/internal/fsx"
	"pannier/publish/client"
)

// The variables of [remoteFlags].
const (
	variableURL       = "PANNIER_URL"
	variableTokenFile = "PANNIER_TOKEN_FILE"
	variableCAFile    = "PANNIER_CA_FILE"
)

// maxSecretFile bounds a file with a token or with certificates, in bytes.
const maxSecretFile = 1 << 20

var remoteNames = []string{"url", "token-file", "ca-file"}

// remoteFlags say which sidecar a command asks over TCP instead of the socket. They are not settings of the sidecar.
type remoteFlags struct{ url, tokenFile, caFile string }

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "ask the sidecar at this `address` over TCP ("+variableURL+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token for --url ("+variableTokenFile+")")
	flags.StringVar(&f.caFile, "ca-file", "", "PEM `file` of certificate authorities for --url ("+variableCAFile+")")
}

// or returns the flags, with the values of the variables for those that are not given.
func (f remoteFlags) or(environ []string) remoteFlags {
	for name, value := range map[string]*string{variableURL: &f.url, variableTokenFile: &f.tokenFile, variableCAFile: &f.caFile} {
		if *value == "" {
			*value = variable(environ, name)
		}
	}
	return f
}

// withoutRemote returns variables without those of [remoteFlags], which are not settings.
func withoutRemote(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == variableURL || name == variableTokenFile || name == variableCAFile
	})
}

// askRemote runs a command against the sidecar at --url. asked is false without --url.
func (p *program) askRemote(ctx context.Context, do request) (asked bool, err error) {
	remote := p.remote.or(p.environ)
	if remote.url == "" {
		return false, nil
	}
	c, err := remote.client()
	if err != nil {
		return true, err
	}
	defer c.Close()
	err = negative(do(ctx, c))
	if errors.Is(err, client.ErrNoSidecar) {
		err = &exitError{exitNoSidecar, "no sidecar answers at " + remote.url, "start one there with --api-listen, or name another address"}
	}
	return true, err
}

func (f remoteFlags) client() (*client.Client, error) { return reached(f, client.NewRemote) }

// reached returns what a function makes of the sidecar that the flags name.
func reached[T any](f remoteFlags, open func(client.Remote) (T, error)) (none T, err error) {
	if f.tokenFile == "" {
		return none, failure("--url needs a token",
			"name the file that holds it with --token-file or "+variableTokenFile)
	}
	authorities, err := f.authorities()
	if err != nil {
		return none, err
	}
	readToken := func() (string, error) {
		text, err := fsx.ReadAtMost(f.tokenFile, maxSecretFile)
		return string(bytes.TrimSpace(text)), err
	}
	opened, err := open(client.Remote{URL: f.url, Token: readToken, CAs: authorities})
	if err != nil {
		return none, failure("--url: "+err.Error(), "write it like https://pannier.example:7443")
	}
	return opened, nil
}

// authorities returns the certificates of --ca-file, which replace those of the system; nil without the flag.
func (f remoteFlags) authorities() (*x509.CertPool, error) {
	if f.caFile == "" {
		return nil, nil
	}
	text, err := fsx.ReadAtMost(f.caFile, maxSecretFile)
	if err != nil {
		return nil, failure("read the certificate authorities: "+err.Error(),
			"name a PEM file with --ca-file or "+variableCAFile)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, failure("no certificate found in "+f.caFile, "name a PEM file with --ca-file")
	}
	return pool, nil
}

// The shared flags of a command, by what the command does: it shares them by name with [program.share]. Only `pannier run` has
// the flags of all settings.
var (
	asksSidecar   = []string{"workspace", "socket", "url", "token-file", "ca-file", "config"}
	readsSkills   = append(slices.Clip(asksSidecar), "root")
	readsSettings = []string{"workspace", "config"}
)

func (p *program) share(cmd *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		cmd.Flags().AddFlag(p.flags.Lookup(name))
	}
	return cmd
}

func (p *program) shareSettings(cmd *cobra.Command) *cobra.Command {
	p.flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(remoteNames, f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	return cmd
}
