package main

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin/audit"
	"pannier/config"
	"pannier/internal/journal"
	"pannier/internal/state"
)

// Where things lie in the state store.
const (
	bucketSnapshot = "snapshot"
	keyNewest      = "newest"
)

// memory is what a sidecar keeps over a restart.
type memory struct {
	log     hclog.Logger
	store   *store
	journal *journal.Journal
	audit   *auditLog
	*versions
	// dir is the directory of the state, empty where it is kept in memory; problem says why, where nobody asked for that.
	dir, problem string
}

// openMemory opens the state of a workspace. That another sidecar has it is an error. A directory that can not be used is
// none, because skills are better served without memory than not at all; health tells of it.
func openMemory(s config.Settings, reg prometheus.Registerer, log hclog.Logger) (*memory, error) {
	m := &memory{log: log}
	if s.StateDir != config.StateNone {
		m.dir = filepath.Join(s.StateDir, directoryName(s.WorkspaceID))
	}
	err := m.open(reg)
	if errors.Is(err, state.ErrLocked) {
		return nil, &exitError{
			code: exitUnknown, message: "another sidecar keeps the state of this workspace in " + m.dir,
			hint: "stop it, or give this one a directory of its own with --state-dir",
		}
	}
	if err != nil {
		log.Warn("state is kept in memory and lost with this process", "error", err)
		m.dir, m.problem = "", err.Error()
		return m, m.open(reg)
	}
	return m, nil
}

func (m *memory) open(reg prometheus.Registerer) (err error) {
	m.store = &store{Store: state.Memory(), log: m.log}
	if m.dir != "" {
		if m.store.Store, err = state.Open(m.dir); err != nil {
			return err
		}
	}
	if broken := m.store.Recovered(); broken != "" {
		m.log.Warn("the state could not be read and begins anew", "moved_to", broken)
	}
	o := journal.Options{Logger: m.log, Registerer: reg}
	if m.dir != "" {
		o.Dir = filepath.Join(m.dir, "journal")
	}
	if m.journal, err = journal.Open(o); err != nil {
		return errors.Join(err, m.store.Close())
	}
	own := audit.Options{Logger: m.log}
	if m.dir != "" {
		own.Dir = filepath.Join(m.dir, auditDir)
	}
	m.audit = newAuditLog(own, m.store.checkPlace)
	m.versions = openVersions(m.store, m.dir, m.log)
	return nil
}

// directoryName returns a workspace's id as the name of a directory, whatever is in it.
func directoryName(id string) string {
	name := url.PathEscape(id)
	if strings.Trim(name, ".") == "" {
		name = "%" + name // "." and ".." are other directories
	}
	return name
}

// outbox is the directory in which cards wait for the platform, empty where they wait in memory.
func (m *memory) outbox() string {
	if m.dir == "" {
		return ""
	}
	return filepath.Join(m.dir, "outbox")
}

// close closes the state. clean says that everything that uses it has ended.
func (m *memory) close(clean bool) {
	err := errors.Join(m.audit.close(), m.journal.Close())
	if err == nil && clean {
		err = m.versions.stop()
	}
	if err := errors.Join(err, m.store.Close()); err != nil {
		m.log.Warn("state not closed", "error", err)
	}
}

// conditions tells what is wrong with the memory.
func (m *memory) conditions() []pannier.Condition {
	conditions := slices.Concat(m.audit.conditions(), m.store.conditions())
	if m.problem == "" {
		return conditions
	}
	return append(conditions, pannier.Condition{
		Code: "state_in_memory", Severity: pannier.SeverityWarning, Subject: "state", Message: m.problem,
		Hint: "make the directory usable or choose another with --state-dir, and restart; --state-dir=none keeps the state in memory on purpose",
	})
}
