package devplatform

// MayRegister is mayRegister.
var MayRegister = mayRegister

// Storable is storable.
var Storable = storable

// SetMaxStored bounds the bytes of all cards.
func (p *Platform) SetMaxStored(n int) { p.maxStored = n }

// The bounds.
const (
	MaxBodyBytes  = maxBodyBytes
	MaxBacklog    = maxBacklog
	MaxClients    = maxClients
	MaxWorkspaces = maxWorkspaces
)
