package api

import (
	"net/http"

	"pannier"
	"pannier/publish/prompt"
)

// peers answers with the workspaces that the agent can delegate to. They come and go without the snapshot.
func (h *Handler) peers(*http.Request, *pannier.Snapshot) (pannier.PeerList, error) {
	return pannier.PeerList{Peers: append([]pannier.Peer{}, h.Peers()...)}, nil
}

// withPeers returns sections with the current peers. Only formats that read bodies show them, and their answers are not cached.
func (h *Handler) withPeers(sections *prompt.Renderer) *prompt.Renderer {
	if h.Peers == nil {
		return sections
	}
	return sections.WithPeers(h.Peers())
}
