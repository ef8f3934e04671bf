package tools

import (
	"sync"

	"pannier"
	"pannier/loader/schema"
)

// schemas keeps the schemas of the tools that are called, and of all others whether they can be used: a compiled schema can take
// a thousand times its text.
type schemas struct {
	mu     sync.Mutex
	called map[pannier.Digest]*schema.Schema
	faults map[pannier.Digest]error // nil where there is none
}

// maxCalledSchemas and maxFaults bound what is kept. When one is reached, all of it is made again as it is needed.
const maxCalledSchemas, maxFaults = 32, 4096

// fault returns why the parameters of a tool cannot be used.
func (s *schemas) fault(tool *pannier.RuntimeTool) error {
	digest := pannier.DigestOf(tool.Parameters)
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault, known := s.faults[digest]; known {
		return fault
	}
	_, err := s.compile(digest, tool)
	return err
}

// of returns the schema of the parameters of a tool that is called.
func (s *schemas) of(tool *pannier.RuntimeTool) (*schema.Schema, error) {
	digest := pannier.DigestOf(tool.Parameters)
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.called[digest]; kept != nil {
		return kept, nil
	}
	made, err := s.compile(digest, tool)
	if err != nil {
		return nil, err
	}
	if s.called == nil || len(s.called) >= maxCalledSchemas {
		s.called = map[pannier.Digest]*schema.Schema{}
	}
	s.called[digest] = made
	return made, nil
}

func (s *schemas) compile(digest pannier.Digest, tool *pannier.RuntimeTool) (*schema.Schema, error) {
	made, err := schema.Compile(tool.Parameters)
	if err != nil {
		err = refuse(pannier.ToolArgumentsInvalid, "the parameters of the tool cannot be used as a JSON Schema: "+err.Error(), "ask the author of the skill to fix them")
	}
	if s.faults == nil || len(s.faults) >= maxFaults {
		s.faults = map[pannier.Digest]error{}
	}
	s.faults[digest] = err
	return made, err
}
