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
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/api"
)

// tokensPatience is how long a request waits for the file of tokens. While its disk does not answer, the tokens that were read last
// hold.
const tokensPatience = 250 * time.Millisecond

// tokenList is the file with the tokens that callers may come in with over TCP. It is read again when it has changed; while it
// cannot be read, what it was last holds. It is for any number of callers, who take no lock that is held over I/O.
type tokenList struct {
	path string
	log  hclog.Logger

	mu      sync.Mutex    // held for a moment
	next    chan struct{} // closed when the look that is to begin next has ended; nil if none is wanted
	looking bool

	newest atomic.Pointer[knownTokens] // written by one look at a time
}

// knownTokens is what a look at the file found. It is never changed.
type knownTokens struct {
	stamp  fsx.Stamp
	read   time.Time // when it was, zero before
	mode   fs.FileMode
	tokens []api.Token
	failed error // of the last attempt
}

// openTokens reads the file for the first time. Here what can not be read is an error: there is nothing before it.
func openTokens(path string, log hclog.Logger) (*tokenList, error) {
	f := &tokenList{path: path, log: log}
	f.newest.Store(&knownTokens{})
	f.look()
	failed := f.newest.Load().failed
	if failed == nil {
		return f, nil
	}
	hint := "it has to be readable for this user; `pannier token NAME SCOPE` makes its lines"
	if refusal, ok := errors.AsType[*pannier.Refusal](failed); ok {
		hint = refusal.Hint
	}
	return nil, &exitError{code: exitUnknown, message: fmt.Sprintf("api_tokens %s: %v", path, failed), hint: hint}
}

// current returns the tokens that hold now. Nobody may change them.
func (f *tokenList) current() []api.Token { return f.refreshed().tokens }

// refreshed returns what a look that began after the call found, or what is known where that takes longer than tokensPatience.
func (f *tokenList) refreshed() *knownTokens {
	f.mu.Lock()
	if f.next == nil {
		f.next = make(chan struct{})
	}
	ended := f.next
	if !f.looking {
		f.looking = true
		go f.lookOn()
	}
	f.mu.Unlock()
	within(tokensPatience, ended)
	return f.newest.Load()
}

// lookOn looks at the file for as long as a look is wanted.
func (f *tokenList) lookOn() {
	for {
		f.mu.Lock()
		ended := f.next
		f.next = nil
		f.looking = ended != nil
		f.mu.Unlock()
		if ended == nil {
			return
		}
		f.look()
		close(ended)
	}
}

// look reads the file where it has changed. It is for one caller at a time.
func (f *tokenList) look() {
	now := *f.newest.Load()
	info, err := os.Stat(f.path)
	if err == nil && fsx.StampOf(info) == now.stamp && !now.stamp.WithinRacyWindow(now.read) {
		return
	}
	var tokens []api.Token
	if err == nil {
		now.stamp, now.read = fsx.StampOf(info), time.Now()
		tokens, err = readTokens(f.path, info)
		if info.Mode().IsRegular() {
			now.mode = info.Mode()
		}
	}
	if err == nil {
		now.tokens = tokens
	} else if !now.read.IsZero() && (now.failed == nil || now.failed.Error() != err.Error()) {
		f.log.Error("the tokens can not be read, and stay what they were", "file", f.path, "error", err)
	}
	now.failed = err
	f.newest.Store(&now)
}

func readTokens(path string, info fs.FileInfo) ([]api.Token, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return api.ParseTokens(text)
}

// conditions tells what is wrong with the file.
func (f *tokenList) conditions() []pannier.Condition {
	now := f.refreshed()
	var conditions []pannier.Condition
	add := func(code, message, hint string) {
		conditions = append(conditions, pannier.Condition{Code: code, Severity: pannier.SeverityWarning, Subject: f.path, Message: message, Hint: hint})
	}
	switch {
	case now.failed != nil:
		add("api_tokens_unreadable", "the tokens stay what they were: "+now.failed.Error(), "mend the file; it is read again when it changes")
	case len(now.tokens) == 0:
		add("api_tokens_none", "there is no token, so nobody gets in over TCP", "make one with `pannier token NAME SCOPE --append "+f.path+"`")
	}
	if now.mode&0o027 != 0 {
		add("api_tokens_exposed", fmt.Sprintf("others than its owner and its group can read the file, or others than its owner can write to it: its mode is %04o", now.mode.Perm()), "chmod 600 it, or 640")
	}
	return conditions
}

// tokenBytes is how much chance is in a token: so much that its digest needs no salt and no stretching.
const tokenBytes = 32

func (p *program) tokenCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "token NAME SCOPE",
		Short: "Make a token for callers over TCP",
		Long: `Makes a token and prints it, once: it is kept nowhere. The sidecar needs only a line with its digest in the file of
--api-tokens: the line is printed beside it, on stderr, or added to the file with --append.

The scopes: read; environment, which is to read and to put the agent's environment; write, which is everything.`,
		Example: "  pannier token grafana read\n  pannier token agent environment --append /etc/pannier/tokens > agent.new && mv agent.new agent.token",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			err := p.makeToken(args[0], args[1], file)
			if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
				return &exitError{code: exitUnknown, message: refusal.Message, hint: refusal.Hint}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "append", "", "add the line to this file, which is made where it is not there")
	return cmd
}

func (p *program) makeToken(name, scope, file string) error {
	if err := api.CheckTokenName(name); err != nil {
		return err
	}
	if _, err := api.ParseScope(scope); err != nil {
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
	unlock, err := lockDirectory(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("add the token: %w", err)
	}
	defer unlock()
	text, err := readBounded(path)
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
	if err := replaceSecret(path, text); err != nil {
		return fmt.Errorf("add the token: %w", err)
	}
	return nil
}

// lockDirectory locks a directory, and waits until other processes that add to a file in it have released it.
func lockDirectory(dir string) (unlock func(), err error) {
	held, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := fsx.Lock(held); err != nil {
		held.Close()
		return nil, err
	}
	return func() { held.Close() }, nil
}

// replaceSecret replaces a file atomically. A new one is private; an existing one keeps its mode and, where this user may change
// it, its owner.
func replaceSecret(path string, text []byte) error {
	var o fsx.WriteOptions
	if was, err := os.Stat(path); err == nil {
		o.Prepare = fsx.KeepOwner(was)
	}
	return fsx.WriteFile(path, text, o)
}
