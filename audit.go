package pannier

import (
	"errors"
	"strconv"
	"time"
)

// ErrNotAudited says that a mutation was refused because its audit entry could not be written.
var ErrNotAudited = errors.New("the audit log cannot be written")

// Refusal is an error that the caller can correct.
type Refusal struct {
	// Code is stable and dotted. Message says what is wrong, Hint what to do.
	Code, Message, Hint string
	// Conflict is the skill that is in the way of an installation, Findings what a security scan blocks it for; nil for others.
	Conflict *InstallConflict
	Findings []Finding
	// Reasons are all that the skill of a refused installation lacks.
	Reasons []Reason
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// ActorSidecar is the kind of actor of what the sidecar does by itself.
const ActorSidecar = "sidecar"

// ActorModule is the kind of actor of what a module of the sidecar does by itself, under the name of the module.
const ActorModule = "module"

// Actor is who asks for a mutation.
type Actor struct {
	// Kind says how the actor came in: "socket", "tcp", "command", "settings", "sidecar" or "module".
	Kind string `json:"kind"`
	// Name is that of the token that came in over TCP, or of the module.
	Name string `json:"name,omitempty"`
	// UID and GID are those of the process at the other end of the socket; nil where there is none.
	UID *uint32 `json:"uid,omitempty"`
	GID *uint32 `json:"gid,omitempty"`
}

// Owner returns what tells whose an upload is: the name of the token or of the module, or the user.
func (a Actor) Owner() string {
	switch {
	case a.Kind == ActorModule:
		return "module:" + a.Name
	case a.Name != "":
		return "token:" + a.Name
	case a.UID != nil:
		return "uid:" + strconv.FormatUint(uint64(*a.UID), 10)
	}
	return a.Kind
}

// AuditPhase tells the entry before a mutation from the one after it.
type AuditPhase string

// The phases. An intent without an outcome behind it is a mutation that a crash cut off.
const (
	AuditIntent  AuditPhase = "intent"
	AuditOutcome AuditPhase = "outcome"
)

// The actions that are audited.
const (
	ActionPutEnvironment = "environment.put"
	ActionSetPolicy      = "policy.set"
	ActionAllowTools     = "tool.allow"
	ActionAcknowledge    = "health.acknowledge"
	ActionScan           = "skill.scan"
	ActionInstall        = "skill.install"
	ActionUpdate         = "skill.update"
	ActionUninstall      = "skill.uninstall"
	ActionRollback       = "skill.rollback"
	ActionPromote        = "skill.promote"
	ActionCallTool       = "tool.call"
	ActionPrepareTools   = "tool.prepare"
	// ActionDenied is a change that the caller may not make.
	ActionDenied = "request.denied"
	// ActionAuditBroken records that the log was found changed or cut off, with the reason as Error.
	ActionAuditBroken = "audit.broken"
)

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	// Seq numbers the entries without gaps from 1.
	Seq   uint64     `json:"seq"`
	Time  time.Time  `json:"time"`
	Phase AuditPhase `json:"phase"`
	// Intent is, in an outcome, the Seq of its intent.
	Intent uint64 `json:"intent,omitempty"`
	Action string `json:"action"`
	Actor  Actor  `json:"actor"`
	// Slug is the skill that it is about, where it is about one.
	Slug string `json:"slug,omitempty"`
	// Detail is what was asked for, without any secret.
	Detail any `json:"detail,omitempty"`
	// SnapshotVersion is that of the snapshot that shows the outcome.
	SnapshotVersion uint64 `json:"snapshot_version,omitempty"`
	// Error says why an outcome is none.
	Error string `json:"error,omitempty"`
	// Previous is the digest of the line before, so that a line that was changed or taken out shows.
	Previous Digest `json:"previous,omitzero"`
}

// AuditList is the newest part of the audit log, newest first.
type AuditList struct {
	Entries []AuditEntry `json:"entries"`
}
