package sidecar

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pannier"
)

// pushModel drives pushes by a list of changes on the disk, each of which is served settle later. The tree is quiet then, unless
// another change came.
type pushModel struct {
	pusher
	start   time.Time
	now     time.Time
	noisy   time.Time // until when the tree is not quiet
	version uint64
	at      []time.Duration // of the pushes
	carried []uint64        // the versions pushed
}

const modelSettle = 100 * time.Millisecond

func newPushModel() *pushModel {
	m := &pushModel{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m.now = m.start
	m.pusher = pusher{
		debounce: 2 * time.Second, maxWait: 3 * time.Second,
		card: func(s *pannier.Snapshot) pannier.Digest { return pannier.Digest{byte(s.Version), byte(s.Version >> 8)} },
		offer: func(s *pannier.Snapshot) {
			m.at, m.carried = append(m.at, m.now.Sub(m.start)), append(m.carried, s.Version)
		},
		quiet: func() bool { return !m.now.Before(m.noisy) },
	}
	return m
}

// serve shows a new snapshot at a time, after everything that falls due before it.
func (m *pushModel) serve(at time.Duration, paced bool) {
	m.until(at)
	m.version++
	m.put(&pannier.Snapshot{Version: m.version, Paced: paced}, m.now)
	m.next(m.now)
}

// until lets time pass. The tree is asked after whenever it may have come to rest.
func (m *pushModel) until(at time.Duration) {
	for end := m.start.Add(at); m.now.Before(end); {
		m.now = m.now.Add(time.Millisecond)
		m.next(m.now)
	}
}

// run makes changes at times from the start, and returns how long each took to be pushed.
func (m *pushModel) run(changes []time.Duration) (took []time.Duration) {
	base := m.version
	for i, at := range changes {
		next := time.Hour
		if i+1 < len(changes) {
			next = changes[i+1]
		}
		m.until(at)
		m.noisy = m.start.Add(at + modelSettle)
		if next >= at+modelSettle {
			m.serve(at+modelSettle, true)
		} else {
			m.serve(at, true) // another skill, which settled meanwhile
		}
	}
	m.until(changes[len(changes)-1] + time.Minute)
	for i := range changes {
		pushed := slices.IndexFunc(m.carried, func(v uint64) bool { return v >= base+uint64(i)+1 })
		took = append(took, m.at[pushed]-changes[i])
	}
	slices.Sort(took)
	return took
}

// spaced returns the times of n changes, a random time of least to most apart.
func spaced(n int, least, most time.Duration) (at []time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	for last := time.Second; len(at) < n; last = at[len(at)-1] {
		at = append(at, last+least+time.Duration(random.Int64N(int64(most-least)+1)))
	}
	return at
}

// TestCadence holds the time from a change to its push against the spacing of the changes.
func TestCadence(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, tt := range []struct {
		name        string
		least, most time.Duration
		p50, max    time.Duration
		pushes      int // most of them
	}{
		{"each 1 s", 1 * s, 1 * s, 300 * ms, 1200 * ms, 201},
		{"each 1 to 2.5 s", 1 * s, 2500 * ms, 300 * ms, 1200 * ms, 201},
		{"each 2.5 s", 2500 * ms, 2500 * ms, 110 * ms, 110 * ms, 200},
		{"each 0.3 to 0.9 s", 300 * ms, 900 * ms, 3300 * ms, 3300 * ms, 50},
		{"each 16 ms", 16 * ms, 16 * ms, 3300 * ms, 3300 * ms, 3},
		{"each 100 ms", 100 * ms, 100 * ms, 3300 * ms, 3300 * ms, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newPushModel()
			took := m.run(spaced(200, tt.least, tt.most))
			if p50, worst := took[len(took)/2], took[len(took)-1]; p50 > tt.p50 || worst > tt.max {
				t.Errorf("p50 %v, max %v, want at most %v and %v", p50, worst, tt.p50, tt.max)
			}
			if len(m.at) > tt.pushes {
				t.Errorf("%d pushes, want %d at most", len(m.at), tt.pushes)
			}
			for i := range m.at[1:] {
				if apart := m.at[i+1] - m.at[i]; apart < pushInterval {
					t.Errorf("pushes %v apart, want %v at least", apart, pushInterval)
				}
			}
			if newest := m.carried[len(m.carried)-1]; newest != m.version {
				t.Errorf("the last push is of version %d, want the newest, %d", newest, m.version)
			}
		})
	}
}

// TestWhatIsAskedForIsPushedAtOnce installs a skill while changes wait, and when nothing does.
func TestWhatIsAskedForIsPushedAtOnce(t *testing.T) {
	m := newPushModel()
	m.serve(0, false)
	m.serve(time.Millisecond, false)
	m.serve(2*time.Millisecond, true) // a start keeps no change waiting
	if len(m.at) != 3 {
		t.Fatalf("pushed at %v, want each at once", m.at)
	}
	m.serve(100*time.Millisecond, true)
	m.serve(200*time.Millisecond, false)
	if len(m.at) != 4 || m.carried[3] != 5 {
		t.Errorf("pushed at %v, want the fifth with the one that waited", m.at)
	}
	m.until(time.Minute)
	if len(m.at) != 4 {
		t.Errorf("pushed at %v, want nothing twice", m.at)
	}
}

// TestCardThatGoesBackIsNotPaced changes a card and changes it back while it waits.
func TestCardThatGoesBackIsNotPaced(t *testing.T) {
	m := newPushModel()
	digest := byte(1)
	m.card = func(*pannier.Snapshot) pannier.Digest { return pannier.Digest{digest} }
	m.serve(0, true)
	digest = 2
	m.serve(500*time.Millisecond, true)
	digest = 1
	m.serve(600*time.Millisecond, true)
	m.until(1500 * time.Millisecond)
	digest = 3
	m.serve(1600*time.Millisecond, true)
	if last := m.at[len(m.at)-1]; last != 1600*time.Millisecond {
		t.Errorf("handed over at %v, want the last at once", m.at)
	}
}
