package api

import (
	"net/http"

	"pannier"
	"pannier/publish/answer"
)

func hasCommands(o *Options) bool { return o.Service.Commands.List != nil }

func (h *Handler) listCommands(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	return h.writeShared(w, r, s, "commands", func() (answer.Encoded, error) {
		return answer.Of(
			pannier.CommandList{SnapshotVersion: s.Version, Digest: s.Digest, Commands: h.Service.Commands.List(s)},
		)
	})
}

// runCommand answers with what an agent needs to follow a command. A request without a body has no arguments.
func (h *Handler) runCommand(r *http.Request, _ *pannier.Snapshot) (run pannier.CommandRun, err error) {
	var call pannier.CommandCall
	if r.ContentLength != 0 {
		if err := readJSON(r, &call); err != nil {
			return run, err
		}
	}
	return h.Service.RunCommand(r.Context(), r.PathValue("name"), call.Args)
}
