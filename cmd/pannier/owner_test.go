package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
)

// ownersOf returns every entry of a directory with its kind, owner, mode, times and content.
func ownersOf(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$0" && find . -printf '%p %y %U %m %C@ %l\n' | sort && find . -type f | sort | xargs -r sha256sum`, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestRootsOfOtherOwners has the owner of a workspace, or an operator, exchange what a sidecar of root installs into. The directory
// of another owner is read and never changed; what an operator may link is changed.
func TestRootsOfOtherOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	// The workspace belongs to user 65531. The directory victim of root has a skill, a staging directory and an interrupted change.
	const agent = `own() { chown -hR 65531:65531 "$@"; }
`
	for name, tt := range map[string]struct {
		exchange string
		roots    string
		severity pannier.Severity // of the condition; empty if skills can be installed
	}{
		"link to root's directory":           {`mv skills old; ln -s ../victim skills; own skills`, "skills", pannier.SeverityWarning},
		"absolute link":                      {`mv skills old; ln -s "$(realpath ../victim)" skills; own skills`, "skills", pannier.SeverityWarning},
		"chain of links":                     {`mv skills old; ln -s ../victim hop; ln -s hop skills; own hop skills`, "skills", pannier.SeverityWarning},
		"link of root that was renamed":      {`mv skills old; ln -s ../victim data; mv data skills`, "skills", pannier.SeverityInfo},
		"link on the way":                    {`mv skills/deep old; ln -s ../../victim skills/deep; own skills/deep`, "skills/deep", pannier.SeverityWarning},
		"link on the way to a missing root":  {`mv skills old; ln -s ../victim skills; own skills`, "skills/none", ""},
		"directory of another user":          {`mv skills old; cp -a ../victim skills; chown -R 65532 skills ../victim`, "skills", pannier.SeverityInfo},
		"workspace that is a link":           {`w=$(basename "$PWD"); cd ..; mkdir victim/skills; mv "$w" old; ln -s victim "$w"; own "$w"`, "skills", pannier.SeverityWarning},
		"workspace of all users":             {`mv skills old; ln -s ../victim skills; chown 0 .; chmod 777 .; own skills`, "skills", pannier.SeverityWarning},
		"link to a directory of the owner":   {`mv skills ../mine; ln -s ../mine skills; own skills`, "skills", ""},
		"link of root to one of the owner":   {`mv skills ../mine; ln -s ../mine skills`, "skills", ""},
		"directory that root made":           {`chown 0 skills`, "skills", ""},
		"link of a volume that root mounted": {`mv skills old; ln -s ../victim ..data; ln -s ..data skills`, "skills", pannier.SeverityInfo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			base := filepath.Dir(w)
			writeIn(t, w, "chmod 755 ..; mkdir -p skills/deep; "+strings.ReplaceAll(skillScript("theirs", "Is not ours."), "skills/", "../victim/")+
				`(cd ../victim; mkdir -p .pannier/staging/0123456789abcdef .pannier/previous; echo '{}' > .pannier/intent.json; echo 'skills: [theirs]' > config.yaml)
chown -R 65531:65531 .`)
			args := []string{"--platform-url", "off", "--state-dir", filepath.Join(base, "state"), "--root", tt.roots}
			installs := func(s *sidecarUnderTest, done bool) {
				t.Helper()
				dir := t.TempDir()
				writeIn(t, dir, "mkdir it; printf -- '"+strings.ReplaceAll(skillFile("it", "2"), "\n", `\n`)+"' > it/SKILL.md")
				for _, command := range [][]string{
					{"install", filepath.Join(dir, "it"), "--dry-run"},
					{"install", filepath.Join(dir, "it")},
					{"update", "it", filepath.Join(dir, "it")},
					{"rollback", "it"},
					{"uninstall", "it"},
				} {
					out, code := s.run(command...)
					if !done && (code == exitYes || !strings.Contains(out, "user 65531")) {
						t.Errorf("%v: exit code %d\n%s", command, code, out)
					}
					if done && command[0] == "install" && code != exitYes {
						t.Errorf("%v: exit code %d\n%s", command, code, out)
					}
				}
			}
			s := startSidecar(t, w, args...)
			writeIn(t, w, agent+tt.exchange)
			victim := filepath.Join(base, "victim")
			before := ownersOf(t, victim)
			refused := tt.severity != "" || tt.roots == "skills/none"
			for range 2 { // also after a restart, which repairs interrupted changes
				need(t, s.Rescan(t.Context()))
				if tt.severity != "" {
					if c := s.tellsOf(t, "root_foreign_owner"); c.Severity != tt.severity || !strings.Contains(c.Message, "user 65531") {
						t.Errorf("condition %+v", c)
					}
				} else {
					s.toldNoMore(t, "root_foreign_owner")
				}
				if tt.severity != "" && name != "workspace that is a link" {
					if _, err := s.entry(t, "theirs"); err != nil {
						t.Errorf("not read: %v", err)
					}
				}
				installs(s, !refused)
				s.stops(t)
				if after := ownersOf(t, victim); after != before {
					t.Fatalf("the directory was changed: before\n%safter\n%s", before, after)
				}
				s = startSidecar(t, w, args...)
			}
		})
	}
}

// TestSkillFilesOfOtherOwners has the owner of a workspace lead a root to the directory above it, and SKILL.md to files below that.
// Those of the sidecar's user are not served; their own are.
func TestSkillFilesOfOtherOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, `mkdir ../private ../evil ../mine ../volume
`+strings.ReplaceAll(skillScript("note", "Is private."), "skills/note", "../private")+`mv ../private/SKILL.md ../private/note.md; chmod 700 ../private; chmod 600 ../private/note.md
ln -s ../private/note.md ../evil/SKILL.md; ln -s ../private/note.md ../volume/SKILL.md
printf -- '---\nname: mine\ndescription: Is mine.\n---\nText\n' > ../mine/real.md; ln -s real.md ../mine/SKILL.md; ln -s ../private/note.md ../mine/planted.txt
rm -rf skills; ln -s .. skills; chown -hR 65531:65531 . ../evil ../mine`)
	s := startSidecar(t, w, "--platform-url", "off")
	for folder, usable := range map[string]bool{"evil": false, "mine": true, "volume": true} {
		list := must(s.Skills(t.Context(), "", false))(t)
		i := slices.IndexFunc(list.Skills, func(v *pannier.Entry) bool { return strings.HasSuffix(v.Path, "/"+folder) })
		if i < 0 {
			t.Fatalf("%s is not listed: %+v", folder, list.Skills)
		}
		if got := list.Skills[i]; got.Usable != usable || !usable && got.Description != "" {
			t.Errorf("%s: usable %t, description %q", folder, got.Usable, got.Description)
		}
	}
	// Nor is a file beside SKILL.md that is a link to one of them served to those who may inspect.
	for _, file := range []string{"evil/files/SKILL.md", "mine/files/planted.txt"} {
		if status := s.status(t, "/v1/skills/"+file+"?inspect=1"); status == http.StatusOK {
			t.Errorf("%s is served to those who may inspect", file)
		}
	}
}

// TestTokenFileOfOtherOwners has the owner of a workspace put files of others in the place of the token. None of them is sent to the
// platform, and health says whose file it is.
func TestTokenFileOfOtherOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	t.Parallel()
	sent := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case sent <- r.Header.Get("Authorization"):
		default:
		}
		io.WriteString(w, `{"status":"updated"}`)
	}))
	defer server.Close()
	w := newWorkspace(t)
	secret := filepath.Join(filepath.Dir(w), "secret")
	writeIn(t, w, `echo root-secret > ../secret; chmod 600 ../secret; echo other-secret > ../other; chown 65532 ../other; chmod 755 ..; chown -R 65531:65531 .`)
	s := startSidecar(t, w, "--platform-url", server.URL, "--platform-follow=off")
	const put = `put() { chmod 600 "$1"; chown -h 65531 "$1"; mv -T "$1" .auth_token; }; `
	for i, tt := range []struct{ script, sends, says string }{
		{`echo own > n; put n`, "Bearer own", ""},
		{`ln -s ../secret n; chown -h 65531 n; mv -T n .auth_token`, "", "not a regular file"},
		{`echo again > n; put n`, "Bearer again", ""},
		{`ln ../secret n; mv -T n .auth_token`, "", "a hard link to a file of user 0"},
		{`rm .auth_token; echo root > n; chmod 600 n; mv -T n .auth_token`, "Bearer root", ""},
		{`ln ../other n; mv -T n .auth_token`, "", "belongs to user 65532"},
		{`mkfifo n; put n`, "", "not a regular file"},
		{`rm .auth_token; mkdir .auth_token`, "", "not a regular file"},
		{`rmdir .auth_token; ln -s real n; echo inside > real; chown -h 65531 n real; mv -T n .auth_token`, "", "not a regular file"},
		{`rm .auth_token real; echo last > n; put n`, "Bearer last", ""},
	} {
		s.write(t, put+tt.script+"\n"+skillScript(fmt.Sprintf("s%d", i), "Has the token read."))
		if tt.sends == "" {
			c := s.tellsOf(t, "platform_token_refused")
			if eventually(t, "health says why", func() error {
				if c = s.tellsOf(t, "platform_token_refused"); !strings.Contains(c.Message, tt.says) {
					return fmt.Errorf("condition %+v", c)
				}
				return nil
			}); c.Severity != pannier.SeverityError || c.Subject != filepath.Join(w, ".auth_token") {
				t.Errorf("%s: condition %+v", tt.script, c)
			}
			continue
		}
		eventually(t, "the token is sent: "+tt.sends, func() error {
			for {
				select {
				case got := <-sent:
					if strings.Contains(got, "secret") || strings.Contains(got, "inside") {
						t.Fatalf("sent %q", got)
					}
					if got == tt.sends {
						return nil
					}
				default:
					return errors.New("not yet")
				}
			}
		})
		s.toldNoMore(t, "platform_token_refused")
	}
	if strings.Contains(s.log.String(), "root-secret") || strings.Contains(s.log.String(), "other-secret") {
		t.Error("the log holds a secret")
	}
	// A file that the settings name is the operator's: a link, as of a Kubernetes volume, is followed.
	s.terminate(t)
	need(t, os.WriteFile(secret, []byte("mounted\n"), 0o600))
	writeIn(t, w, "ln -s ../secret mounted")
	startSidecar(t, w, "--platform-url", server.URL, "--platform-token-file", filepath.Join(w, "mounted"))
	eventually(t, "the token behind the link is sent", func() error {
		if got := <-sent; got != "Bearer mounted" {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}
