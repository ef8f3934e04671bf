package tools

import (
	"sync"

	"pannier"
	"pannier/tools/schema"
)

// schemas keeps compiled schemas by their text.
type schemas struct {
	mu   sync.Mutex
	kept map[string]compiled
}

type compiled struct {
	*schema.Schema
	fault error
}

// maxKeptSchemas bounds the kept schemas. When it is reached, all are compiled again as they are needed.
const maxKeptSchemas = 1024

func (s *schemas) of(tool *pannier.RuntimeTool) (*schema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.kept[string(tool.Parameters)]; ok {
		return kept.Schema, kept.fault
	}
	made, err := schema.Compile(tool.Parameters)
	if err != nil {
		err = refuse(pannier.ToolArgumentsInvalid, "the parameters of the tool cannot be used as a JSON Schema: "+err.Error(), "ask the author of the skill to fix them")
	}
	if s.kept == nil || len(s.kept) >= maxKeptSchemas {
		s.kept = map[string]compiled{}
	}
	s.kept[string(tool.Parameters)] = compiled{made, err}
	return made, err
}
