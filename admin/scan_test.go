package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
	"pannier/contents"
	"pannier/internal/policyfile"
)

// scanned is a fixture whose directory is what a test says.
type scanned struct {
	*fixture
	*admin.Service
	verdicts *contents.Verdicts
	prints   func() (pannier.Digest, error)
	report   func(context.Context) (pannier.ScanReport, error)
}

var (
	content = pannier.DigestOf([]byte("content"))
	elf     = pannier.Finding{Rule: "scan.file.elf", Severity: pannier.SeverityError, Path: "bin/x", Message: "m", Hint: "h", Blocking: true}
	skill   = &pannier.Skill{Slug: "pdf", Path: "skills/pdf", SourceKind: pannier.SourceWorkspace}
)

func newScanned(t *testing.T, dir string, more ...func(*admin.Options)) *scanned {
	t.Helper()
	h := &scanned{fixture: newFixture(t, dir)}
	h.prints = func() (pannier.Digest, error) { return content, nil }
	h.report = func(context.Context) (pannier.ScanReport, error) {
		return pannier.ScanReport{ScanVerdict: pannier.ScanVerdict{Decision: pannier.ScanBlock, Findings: []pannier.Finding{elf}}, Files: 2, Bytes: 7}, nil
	}
	var err error
	if h.verdicts, err = contents.OpenVerdicts(h.fixture, policyfile.New(policyfile.Generation{})); err != nil {
		t.Fatal(err)
	}
	o := admin.Options{
		Audit: h.fixture, Values: h.fixture, SetEnvironment: h.setEnvironment, Emit: h.emit,
		Scans: admin.ScanOptions{
			Verdicts:    h.verdicts,
			IsRule:      func(name string) bool { return name == elf.Rule || name == "scan.file.pe" },
			Fingerprint: func(context.Context, *pannier.Skill) (pannier.Digest, error) { return h.prints() },
			Scan:        func(ctx context.Context, _ *pannier.Skill) (pannier.ScanReport, error) { return h.report(ctx) },
			ApplyVerdict: func(_ *pannier.Skill, fingerprint pannier.Digest) *pannier.Snapshot {
				return h.change(func(*pannier.Snapshot) { h.note("judge by %s", fingerprint) })
			},
		},
	}
	for _, change := range more {
		change(&o)
	}
	h.Service = admin.New(o)
	return h
}

// kept reports whether there is a verdict for the content.
func (h *scanned) kept(t *testing.T) bool {
	t.Helper()
	_, found, err := h.verdicts.Get(content)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestScan(t *testing.T) {
	h := newScanned(t, t.TempDir())
	report, s, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Slug != "pdf" || report.Path != "skills/pdf" || report.Fingerprint != content || report.At.IsZero() || report.Files != 2 || report.Unkept != "" || s.Version != 41 {
		t.Errorf("report %+v of %d", report, s.Version)
	}
	v, _, err := h.verdicts.Get(content)
	if diff := cmp.Diff(report.ScanVerdict, v); diff != "" || err != nil {
		t.Errorf("%v, kept (-report +kept):\n%s", err, diff)
	}
	want := []string{
		"audit intent", "put scans/" + content.String(), "apply", "judge by " + content.String(), "audit outcome",
		fmt.Sprintf(`emit skill_scanned {"slug":"pdf","path":"skills/pdf","fingerprint":"%s","decision":"block","findings":1,"origin":"explicit"}`, content),
	}
	if diff := cmp.Diff(want, h.happened); diff != "" {
		t.Errorf("happened (-want +got):\n%s", diff)
	}
	log := fmt.Sprintf(`1 intent of 0 skill.scan pdf {"path":"skills/pdf"} 0
2 outcome of 1 skill.scan pdf {"path":"skills/pdf","fingerprint":"%s","decision":"block","findings":1,"blocking":["scan.file.elf"]} 41`, content)
	if diff := cmp.Diff(log, h.audited(t)); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestScansThatKeepNothing(t *testing.T) {
	moving := 0
	for _, tt := range []struct {
		name    string
		arrange func(*scanned)
		fails   error
		unkept  string
		audited int
	}{
		{"no audit", func(h *scanned) { h.unaudited = pannier.AuditIntent }, pannier.ErrNotAudited, "", 0},
		{"no room", func(h *scanned) { h.unkept = errDiskFull }, errDiskFull, "", 2},
		{"it changes each time", func(h *scanned) {
			h.prints = func() (pannier.Digest, error) { moving++; return pannier.DigestOf(fmt.Append(nil, moving)), nil }
		}, pannier.ErrChanged, "", 2},
		{"it changes for ever", func(h *scanned) {
			h.prints = func() (pannier.Digest, error) { return pannier.Digest{}, pannier.ErrChanged }
		}, pannier.ErrChanged, "", 2},
		{"it cannot be scanned", func(h *scanned) {
			h.report = func(context.Context) (pannier.ScanReport, error) { return pannier.ScanReport{}, errDiskFull }
		}, errDiskFull, "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newScanned(t, t.TempDir())
			tt.arrange(h)
			report, s, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{})
			if !errors.Is(err, tt.fails) || report.Unkept != tt.unkept || s != nil || h.kept(t) {
				t.Errorf("%v, %+v, %v", err, report, s)
			}
			entries, err := h.log.Newest("", 0, 10)
			if err != nil || len(entries) != tt.audited || strings.Contains(strings.Join(h.happened, " "), "emit") {
				t.Errorf("%v, happened %q, audited:\n%s", err, h.happened, h.audited(t))
			}
		})
	}
}

var errDiskFull = errors.New("disk full")

// TestScanWithoutFingerprint: what blocks is held by the place of the skill, and what does not is not kept and takes
// that back, unless the scan was ended.
func TestScanWithoutFingerprint(t *testing.T) {
	h := newScanned(t, t.TempDir())
	h.prints = func() (pannier.Digest, error) { return pannier.Digest{}, errors.New(`"x": permission denied`) }
	blocking := h.report
	clean := func(context.Context) (pannier.ScanReport, error) {
		return pannier.ScanReport{ScanVerdict: pannier.ScanVerdict{Decision: pannier.ScanAllow}}, nil
	}
	ended := func(context.Context) (pannier.ScanReport, error) {
		return pannier.ScanReport{}, context.DeadlineExceeded
	}
	endedBlocking := func(ctx context.Context) (pannier.ScanReport, error) {
		r, _ := blocking(ctx)
		return r, context.DeadlineExceeded
	}
	readable := func() (pannier.Digest, error) { return content, nil }
	unreadable := h.prints
	calls := 0
	lost := func() (pannier.Digest, error) {
		if calls++; calls%2 == 0 {
			return unreadable()
		}
		return content, nil
	}
	for _, tt := range []struct {
		name   string
		prints func() (pannier.Digest, error)
		report func(context.Context) (pannier.ScanReport, error)
		unkept string
		held   bool
		events int
	}{
		{"it does not block", unreadable, clean, `"x": permission denied`, false, 0},
		{"it blocks", unreadable, blocking, "", true, 1},
		{"a scan that was ended says nothing", unreadable, ended, "the scan timed out after 45s", true, 0},
		{"a scan that went through clears it", unreadable, clean, `"x": permission denied`, false, 0},
		{"what was found until it was ended", unreadable, endedBlocking, "", true, 1},
		{"one with a fingerprint takes its place", readable, blocking, "", false, 1},
		{"the fingerprint is lost meanwhile", lost, blocking, "", true, 1},
	} {
		h.prints, h.report, h.happened = tt.prints, tt.report, nil
		report, _, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{})
		if err != nil || report.Unkept != tt.unkept || strings.Count(strings.Join(h.happened, " "), "emit skill_scanned") != tt.events {
			t.Errorf("%s: %v, %+v, %q", tt.name, err, report, h.happened)
		}
		v, held, err := h.verdicts.VerdictAt(skill.Path)
		if held != tt.held || err != nil || held && (v.Decision != pannier.ScanBlock || len(v.Findings) != 1 || v.At.IsZero()) {
			t.Errorf("%s: held %t, %v, %+v", tt.name, held, err, v)
		}
	}
	h.unkept = errDiskFull
	if _, s, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{}); !errors.Is(err, errDiskFull) || s != nil {
		t.Errorf("%v, %v", err, s)
	}
}

// TestScanOfWhatChangesOnce: what is found belongs to the fingerprint that it is kept by.
func TestScanOfWhatChangesOnce(t *testing.T) {
	h := newScanned(t, t.TempDir())
	asked, scans := 0, 0
	h.prints = func() (pannier.Digest, error) {
		if asked++; asked == 1 {
			return pannier.DigestOf([]byte("before")), nil
		}
		return content, nil
	}
	h.report = func(context.Context) (pannier.ScanReport, error) {
		scans++
		return pannier.ScanReport{Files: scans}, nil
	}
	report, _, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{})
	if err != nil || report.Fingerprint != content || report.Files != 2 || !h.kept(t) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestLongScan: other changes are made meanwhile; a timeout or a canceled request ends the scan.
func TestLongScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newScanned(t, t.TempDir())
		h.report = func(ctx context.Context) (pannier.ScanReport, error) {
			<-ctx.Done()
			return pannier.ScanReport{ScanVerdict: pannier.ScanVerdict{Decision: pannier.ScanBlock}}, ctx.Err()
		}
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := h.Scan(ctx, actor, skill, pannier.ScanRequest{})
			ended <- err
		}()
		synctest.Wait()
		if _, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux"}); err != nil {
			t.Errorf("another mutation: %v", err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := h.Scan(impatient, actor, skill, pannier.ScanRequest{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second scan: %v", err)
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled request: %v", err)
		}
		report, _, err := h.Scan(t.Context(), actor, skill, pannier.ScanRequest{})
		if err != nil || report.Unkept != "the scan timed out after 45s" || h.kept(t) {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestScanWhileAnotherMutationIsUnderWay ends the wait of a scan for its turn once the caller goes away, and lets the
// next one in.
func TestScanWhileAnotherMutationIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		h := newScanned(t, t.TempDir(), func(o *admin.Options) {
			set := o.SetEnvironment
			o.SetEnvironment = func(env pannier.Environment) *pannier.Snapshot { <-answers; return set(env) }
		})
		var other sync.WaitGroup
		other.Go(func() {
			if _, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux"}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, _, err := h.Scan(ctx, actor, skill, pannier.ScanRequest{}); !errors.Is(err, context.DeadlineExceeded) || h.kept(t) {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		close(answers)
		other.Wait()
	})
}
