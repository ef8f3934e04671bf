package service

import (
	"fmt"
	"strings"

	"pannier"
)

// The bounds of a [pannier.FindRequest].
const (
	// MaxFindBytes is the longest text, MaxFound the most skills of an answer.
	MaxFindBytes = 16 << 10
	MaxFound     = 100
	defaultFound = 20
)

// FindByText returns the skills that a text is about, the most relevant first; keep, unless it is nil, says which of
// them count.
func (s *Service) FindByText(
	now *pannier.Snapshot, q pannier.FindRequest, keep func(*pannier.Entry) bool,
) (pannier.FoundList, error) {
	list := pannier.FoundList{SnapshotVersion: now.Version, Digest: now.Digest, Skills: []pannier.FoundSkill{}}
	switch {
	case strings.TrimSpace(q.Text) == "":
		return list, refuse("invalid_parameter.text", "the text is empty", "describe the task, or give a name")
	case len(q.Text) > MaxFindBytes:
		return list, refuse(
			"invalid_parameter.text",
			fmt.Sprintf("the text has more than %d bytes", MaxFindBytes),
			"describe the task in fewer words",
		)
	case q.Limit < 0 || q.Limit > MaxFound:
		return list, refuse(
			"invalid_parameter.limit",
			fmt.Sprintf("invalid limit %d", q.Limit),
			fmt.Sprintf("give a number from 1 to %d, or leave it out", MaxFound),
		)
	case q.Limit == 0:
		q.Limit = defaultFound
	}
	for _, f := range s.Ranked(now, q.Text) {
		if keep != nil && !keep(f.Entry) {
			continue
		}
		if list.Total++; list.Total <= q.Limit {
			list.Skills = append(list.Skills, pannier.FoundSkill{
				Slug: f.Slug, Name: f.Name, Description: pannier.CleanLine(f.Description), State: f.State,
				Usable: f.Usable, Offered: f.Automatic(),
				Relevance: f.Relevance,
			})
		}
	}
	return list, nil
}
