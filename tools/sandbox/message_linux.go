package sandbox

import (
	"encoding/json"

	"golang.org/x/sys/unix"
)

// Descriptors of the supervisor.
const (
	orderFD  = 3 // read: an order as JSON, then bytes; its end kills the program
	statusFD = 4 // write: a status as JSON
	proxyFD  = 5 // a unix socket, only where the order has Proxy: the listener of [Spec].Serve
)

// terminate is the byte that asks for SIGTERM.
const terminate = 'T'

// order is what the supervisor has to do.
type order struct {
	Spec
	// Namespaces says that the supervisor was started in new namespaces, User that one of users is among them.
	Namespaces bool `json:"namespaces"`
	User       bool `json:"user"`
	// Proxy asks for the listener of [Spec].Serve.
	Proxy bool `json:"proxy,omitempty"`
	// Probe asks for the layers, without a program.
	Probe bool `json:"probe"`
}

// status is what the supervisor answers.
type status struct {
	// Unavailable lists layers that the level requires and the kernel lacks; Error is another reason why nothing was started.
	Unavailable []string `json:"unavailable,omitempty"`
	Error       string   `json:"error,omitempty"`
	// NotStarted says that the program could not be executed, Errno what the kernel answered.
	NotStarted  bool       `json:"not_started,omitempty"`
	Errno       unix.Errno `json:"errno,omitempty"`
	Code        int        `json:"code"`
	Signal      int        `json:"signal"`
	ScratchFull bool       `json:"scratch_full,omitempty"`
	// The layers of a probe.
	Landlock int  `json:"landlock,omitempty"`
	Seccomp  bool `json:"seccomp,omitempty"`
	ReadOnly bool `json:"read_only,omitempty"`
	Proc     bool `json:"proc,omitempty"`
	Loopback bool `json:"loopback,omitempty"`
	// Refused is the error of the thread of a probe.
	Refused string `json:"refused,omitempty"`
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types above have nothing that cannot be encoded
	}
	return text
}
