package mcp

import (
	"context"
	"time"
)

// SetWaitsForTest sets how long a large read waits for a place, and how long a chunk of an answer may take.
func (s *Server) SetWaitsForTest(wait, stall time.Duration) {
	s.answers.wait, s.answers.stall = wait, stall
}

// PlacesForTest returns how many places of large reads are taken.
func (s *Server) PlacesForTest() int { return len(s.answers.places) }

// ReadForTest reads a resource as a host gets it.
func (s *Server) ReadForTest(ctx context.Context, uri string) (string, error) {
	result, err := s.readResource(ctx, uri)
	if err != nil {
		return "", s.wireError(ctx, "resources/read", uri, err)
	}
	contents := result.(*readResult).Contents[0]
	return contents.Text + string(contents.Blob), nil
}
