package registry

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"pannier"
)

// digestForm numbers the definition of [digest]. Events tell it, so that digests of two definitions are not compared.
const digestForm = 2

// digestChunk is how many bytes are hashed at once.
const digestChunk = 4 << 10

// digest covers everything that a snapshot shows, and nothing else. Of each entry it covers the digest. Every text and
// every list has its length before it, so that nothing can change sides.
func (a *assessment) digest(s *pannier.Snapshot) pannier.Digest {
	w := s.Workspace
	h, b := sha256.New(), make([]byte, 0, 2*digestChunk)
	b = appendTexts(b, w.Name, w.Description, w.Version, w.Runtime)
	b = appendEnvironment(b, &s.Environment)
	b = appendPolicies(b, s.Policies.Workspace)
	for _, flag := range []bool{w.Streaming, w.PushNotifications, w.LastGood} {
		b = strconv.AppendBool(b, flag)
	}
	for i := range w.Prompts {
		b = append(appendTexts(b, w.Prompts[i].Path), w.Prompts[i].Digest[:]...)
	}
	b = appendProblems(b, s.Problems)
	// Hashing a few bytes at a time would take several times as long.
	write := func(atLeast int) {
		if len(b) >= atLeast {
			_, _ = h.Write(b) // it never fails
			b = b[:0]
		}
	}
	for _, j := range a.list {
		b = append(b, j.digest[:]...)
		write(digestChunk)
	}
	for _, e := range s.Ranked() {
		b = appendTexts(b, e.ID)
		write(digestChunk)
	}
	write(0)
	return pannier.Digest(h.Sum(b))
}

// appendEnvironment appends what skills are judged by, but not when it was found out.
func appendEnvironment(b []byte, e *pannier.Environment) []byte {
	b = appendTexts(b, string(e.Source), e.OS, e.Arch)
	for _, names := range [][]string{e.Bins, e.Env, e.Config, e.MCP} {
		b = appendTexts(binary.AppendUvarint(b, uint64(len(names))), names...)
	}
	return b
}

// appendPolicies appends what clients set, also for skills that are not there. What the settings say shows in the
// entries.
func appendPolicies(b []byte, set map[pannier.PolicyKey]pannier.PolicyEntry) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	for _, key := range slices.SortedFunc(maps.Keys(set), pannier.PolicyKey.Compare) {
		b = appendTexts(b, key.Slug, string(key.SourceKind), set[key].Path)
		for _, toggle := range []*bool{set[key].Enabled, set[key].AllowImplicit} {
			b = append(b, switchByte(toggle))
		}
		if tools := set[key].Tools; tools != nil {
			b = append(appendTexts(b, "tools"), switchByte(tools))
		}
		if overrides := set[key].Overrides; overrides != nil {
			b = append(appendTexts(b, "overrides"), switchByte(overrides))
		}
		if allowed := set[key].ToolsAllowed; !allowed.IsZero() {
			b = append(appendTexts(b, "tools allowed"), allowed[:]...)
		}
	}
	return b
}

// switchByte tells apart a switch that is on, off, or not set.
func switchByte(on *bool) byte {
	switch {
	case on == nil:
		return '-'
	case *on:
		return '1'
	}
	return '0'
}

// digestOf covers what a skill is, which its Sum does, and what judging it added.
func digestOf(e *pannier.Entry) pannier.Digest {
	b := append(make([]byte, 0, 512), e.Sum[:]...)
	if e.Deleting {
		b = appendTexts(b, "deleting")
	}
	if !e.FoundDigest.IsZero() {
		b = append(appendTexts(b, "found"), e.FoundDigest[:]...)
	}
	if e.Policy.ToolsOff {
		b = appendTexts(b, "tools off")
	}
	if e.Policy.OverridesOff {
		b = appendTexts(b, "overrides off")
	}
	if allowed := e.Policy.ToolsAllowed; !allowed.IsZero() {
		b = append(appendTexts(b, "tools allowed"), allowed[:]...)
	}
	b = appendTexts(b, string(e.State), e.ID, string(e.Policy.Source), string(e.Policy.ImplicitSource))
	b = strconv.AppendBool(strconv.AppendBool(b, e.Policy.Enabled), e.Policy.AllowImplicit)
	b = binary.AppendUvarint(b, uint64(len(e.Reasons)))
	for _, r := range e.Reasons {
		b = appendTexts(b, r.Code, r.Subject, r.Remedy)
	}
	return pannier.DigestOf(appendProblems(b, e.Problems[len(e.Skill.Problems):]))
}

func appendProblems(b []byte, problems []pannier.Problem) []byte {
	b = binary.AppendUvarint(b, uint64(len(problems)))
	for _, p := range problems {
		b = appendTexts(b, p.Code, string(p.Severity), p.Path, p.Field, p.Subject, p.Message, p.Hint)
		b = binary.AppendVarint(binary.AppendVarint(b, int64(p.Line)), int64(p.Column))
	}
	return b
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}
