package mcp

import "context"

// ReadForTest reads a resource as a host gets it.
func (s *Server) ReadForTest(ctx context.Context, uri string) (string, error) {
	result, err := s.readResource(ctx, uri)
	if err != nil {
		return "", s.wireError(ctx, "resources/read", uri, err)
	}
	contents := result.(*readResult).Contents[0]
	return contents.Text + string(contents.Blob), nil
}
