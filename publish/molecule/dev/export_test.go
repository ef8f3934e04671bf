package dev

// MayRegister is mayRegister.
var MayRegister = mayRegister

// Storable is storable.
var Storable = storable

// SetMaxStored bounds the bytes of all cards.
func (p *Platform) SetMaxStored(n int) { p.maxStored = n }

// Queued is how many bytes of events wait for clients.
func (p *Platform) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queued
}

// The bounds.
const (
	MaxInFlightBytes = maxInFlightBytes
	MaxQueuedBytes   = maxQueuedBytes
	MaxBodyBytes     = maxBodyBytes
	MaxBacklog       = maxBacklog
	MaxClients       = maxClients
	MaxWorkspaces    = maxWorkspaces
)
