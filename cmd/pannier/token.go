package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/api"
	"pannier/service"
)

// tokenBytes is how much chance is in a token: so much that its digest needs no salt and no stretching.
const tokenBytes = 32

func (p *program) tokenCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "token NAME SCOPE",
		Short: "Create a token for clients over TCP",
		Long: `Creates a token and prints it once; it is stored nowhere. The sidecar needs only a line with its
digest in the file of --api-tokens. The line goes to stderr, or with --append into the file.

Scopes: read; environment (read, and report the environment of the agent); call (read, and call
tools of skills); write (everything).`,
		Example: `  pannier token grafana read
  pannier token agent environment --append /etc/pannier/tokens > agent.token`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			err := p.makeToken(args[0], args[1], file)
			if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
				return failure(refusal.Message, refusal.Hint)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "append", "", "add the line to this `file`; create it if it does not exist")
	return cmd
}

func (p *program) makeToken(name, scope, file string) error {
	if err := api.CheckTokenName(name); err != nil {
		return err
	}
	if _, err := service.ParseScope(scope); err != nil {
		return err
	}
	chance := make([]byte, tokenBytes)
	rand.Read(chance) // it does not fail
	token := "pannier_" + base64.RawURLEncoding.EncodeToString(chance)
	line := fmt.Sprintf("%s %s %s", name, scope, pannier.DigestOf([]byte(token)))
	if file != "" {
		if err := appendToken(file, line); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.err, "the line for the file of --api-tokens:\n%s\n", line)
	}
	_, err := fmt.Fprintln(p.out, token)
	return err
}

// appendToken adds a line to a file of tokens, which a reader sees before or after. A file that has a fault stays as it is.
func appendToken(path, line string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("add the token: %w", err)
	}
	defer dir.Close()
	if err := fsx.Lock(dir); err != nil { // waits for other processes that add to a file in it
		return fmt.Errorf("add the token: %w", err)
	}
	text, err := fsx.ReadAtMost(path, maxSecretFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add the token: %w", err)
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	text = append(text, line+"\n"...)
	if _, err := api.ParseTokens(text); err != nil {
		return err
	}
	var o fsx.WriteOptions // a new file is private; an existing one keeps its mode and, where this user may change it, its owner
	if was, err := os.Stat(path); err == nil {
		o.Prepare = fsx.KeepOwner(was)
	}
	if err := fsx.WriteFile(path, text, o); err != nil {
		return fmt.Errorf("add the token: %w", err)
	}
	return nil
}
