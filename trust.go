package pannier

import "slices"

// Trust is how far the origin of a skill is trusted.
type Trust string

// The levels, from the lowest. On the wire of the Pioneer skills protocol verified and internal read "trusted".
const (
	TrustUntrusted Trust = "untrusted"
	TrustCommunity Trust = "community"
	TrustVerified  Trust = "verified"
	TrustInternal  Trust = "internal"
)

// TrustLevels lists the levels from the lowest.
func TrustLevels() []Trust {
	return []Trust{TrustUntrusted, TrustCommunity, TrustVerified, TrustInternal}
}

// AtLeast reports whether t is at least another level. An empty or unknown level is untrusted.
func (t Trust) AtLeast(other Trust) bool { return t.rank() >= other.rank() }

func (t Trust) rank() int { return max(0, slices.Index(TrustLevels(), t)) }
