package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pannier/internal/fsx"
	"pannier/publish/client"
)

// The variables that stand for the flags of [farFlags].
const (
	variableURL       = "PANNIER_URL"
	variableTokenFile = "PANNIER_TOKEN_FILE"
	variableCAFile    = "PANNIER_CA_FILE"
)

// maxSecretFile bounds a file with a token or with authorities.
const maxSecretFile = 1 << 20

// farFlags say which sidecar is asked over TCP, where the one behind the socket is not meant. They are no settings: a
// sidecar has no use for them.
type farFlags struct{ url, tokenFile, caFile string }

func (f *farFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "ask the sidecar at this address over TCP, such as https://pannier.example:7443, and not the socket (variable "+variableURL+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token for --url (variable "+variableTokenFile+")")
	flags.StringVar(&f.caFile, "ca-file", "", "PEM file of the authorities to trust for --url (variable "+variableCAFile+")")
}

// or fills in what the variables give.
func (f farFlags) or(environ []string) farFlags {
	for name, value := range map[string]*string{variableURL: &f.url, variableTokenFile: &f.tokenFile, variableCAFile: &f.caFile} {
		at := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if *value == "" && at >= 0 {
			*value = strings.TrimPrefix(environ[at], name+"=")
		}
	}
	return f
}

// refuseFarFlags fails where the flags of [farFlags] are given to `pannier run`, which asks no sidecar, and names those that
// were meant.
func refuseFarFlags(flags *pflag.FlagSet) error {
	for given, meant := range map[string]string{"url": "platform-url", "token-file": "platform-token-file", "ca-file": "platform-ca-file"} {
		if flags.Changed(given) {
			return &exitError{
				code: exitUnknown, message: fmt.Sprintf(`--%s is not a flag of "pannier run": it says which sidecar other commands ask`, given),
				hint: fmt.Sprintf("use --%s for the platform that gets the card", meant),
			}
		}
	}
	return nil
}

// withoutFar returns variables without those of [farFlags], which settings do not know.
func withoutFar(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == variableURL || name == variableTokenFile || name == variableCAFile
	})
}

// askingFar runs a command against a sidecar that is reached over TCP, where one is named.
func (p *program) askingFar(ctx context.Context, do func(context.Context, *client.Client) error) (asked bool, err error) {
	far := p.far.or(p.environ)
	if far.url == "" {
		return false, nil
	}
	c, err := far.client()
	if err != nil {
		return true, err
	}
	defer c.Close()
	err = negative(do(ctx, c))
	if errors.Is(err, client.ErrNoSidecar) {
		err = &exitError{code: exitNoSidecar, message: "no sidecar answers at " + far.url, hint: "start one there with --api-listen, or name another address"}
	}
	return true, err
}

func (f farFlags) client() (*client.Client, error) {
	if f.tokenFile == "" {
		return nil, &exitError{code: exitUnknown, message: "--url needs a token", hint: "name the file that holds it with --token-file or " + variableTokenFile}
	}
	authorities, err := f.authorities()
	if err != nil {
		return nil, err
	}
	r := client.Remote{URL: f.url, Token: f.readToken, CAs: authorities}
	c, err := client.NewRemote(r)
	if err != nil {
		return nil, &exitError{code: exitUnknown, message: "--url: " + err.Error(), hint: "write it like https://pannier.example:7443"}
	}
	return c, nil
}

func (f farFlags) readToken() (string, error) {
	text, err := fsx.ReadAtMost(f.tokenFile, maxSecretFile)
	return string(bytes.TrimSpace(text)), err
}

// authorities returns whom to trust in the place of the system's; nil where nobody says.
func (f farFlags) authorities() (*x509.CertPool, error) {
	if f.caFile == "" {
		return nil, nil
	}
	text, err := fsx.ReadAtMost(f.caFile, maxSecretFile)
	if err != nil {
		return nil, &exitError{code: exitUnknown, message: "read the authorities: " + err.Error(), hint: "name a PEM file with --ca-file or " + variableCAFile}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &exitError{code: exitUnknown, message: "there is no certificate in " + f.caFile, hint: "it has to be a PEM file"}
	}
	return pool, nil
}
