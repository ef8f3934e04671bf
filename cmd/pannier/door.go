package main

import (
	"fmt"
	"path/filepath"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/publish/api"
)

// auditDir is the directory of the audit log below that of the state.
const auditDir = "audit"

// openAudit opens the audit log. One that can not be opened is no reason not to serve skills: then nothing is changed, and
// health says why.
func (m *memory) openAudit() {
	o := audit.Options{Logger: m.log}
	if m.dir != "" {
		o.Dir = filepath.Join(m.dir, auditDir)
	}
	var err error
	if m.audit, err = audit.Open(o); err != nil {
		m.log.Error("changes are refused, because they can not be audited", "error", err)
		m.auditProblem = err
	}
}

// auditor is the audit log, or what stands for it where it could not be opened.
func (m *memory) auditor() admin.Auditor {
	if m.auditProblem != nil {
		return noAudit{m.auditProblem}
	}
	return m.audit
}

// noAudit audits nothing.
type noAudit struct{ err error }

// Append implements [admin.Auditor].
func (n noAudit) Append(pannier.AuditEntry) (pannier.AuditEntry, error) {
	return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, n.err)
}

// newest returns the newest entries of the audit log.
func (m *memory) newest(slug string, limit int) ([]pannier.AuditEntry, error) {
	if m.auditProblem != nil {
		return nil, m.auditProblem
	}
	return m.audit.Newest(slug, limit)
}

// openDoor opens the one door for changes from outside, which lead into the house.
func (c *sidecar) openDoor() error {
	m := c.memory
	policies, err := policy.Open(m.store)
	if err != nil {
		return &exitError{code: exitUnknown, message: err.Error(), hint: "a policy may disable a skill, so pannier does not start without it; repair the state directory, or remove state.db in it and set policies anew"}
	}
	c.door = admin.New(admin.Options{
		Audit: m.auditor(), Policy: policies, Values: m.store, Emit: c.events.emit, Logger: c.log,
		SetPolicies: c.takePolicies, SetEnvironment: c.takeEnvironment,
	})
	c.policies = c.door.Policies()
	put, found, err := c.door.Environment()
	if err != nil {
		c.log.Warn("the environment that the agent put can not be read; it has to put it again", "error", err)
	}
	if found {
		c.judgedBy.take(put)
	}
	return nil
}

// mutations are what the socket lets peers change.
func (c *sidecar) mutations() api.Mutations {
	return api.Mutations{
		PutEnvironment: c.door.PutEnvironment, SetPolicy: c.door.SetPolicy, Audit: c.memory.newest, WriteUIDs: c.settings.WriteUIDs,
	}
}

// auditConditions tells what is wrong with the audit log.
func (m *memory) auditConditions() []pannier.Condition {
	if m.auditProblem == nil {
		return nil
	}
	return []pannier.Condition{{
		Code: "audit_unusable", Severity: pannier.SeverityError, Subject: auditDir, Message: "changes are refused, because they can not be audited: " + m.auditProblem.Error(),
		Hint: "make the directory readable and writable, and restart",
	}}
}

func (m *memory) closeAudit() error {
	if m.audit == nil {
		return nil
	}
	return m.audit.Close()
}
