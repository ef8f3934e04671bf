package loader

import (
	"strings"

	"pannier"
	"pannier/loader/fields"
)

// arena is where the skills and their texts lie that one reader reads. They come as parts of a whole frontmatter, or from the
// YAML library one by one, scattered among many times as many that are not kept; and where a page of memory holds one
// text that stays, none of it goes back to the system.
type arena struct {
	text   strings.Builder
	skills []pannier.Skill // not used yet
	taken  int             // how many skills moved in
}

// A pass over a few skills gets no more room than they need, because a room stays as long as one of its texts does.
const (
	fewSkills = 16
	roomBytes = 64 << 10
	// roomSkills fill an allocation of 24 KiB; one by one, they take a tenth more.
	roomSkills = 26
)

// skill returns memory for a skill.
func (r *arena) skill() *pannier.Skill {
	if r.taken < fewSkills {
		return &pannier.Skill{}
	}
	if len(r.skills) == 0 {
		r.skills = make([]pannier.Skill, roomSkills)
	}
	s := &r.skills[0]
	r.skills = r.skills[1:]
	return s
}

// grow makes room for that many bytes.
func (r *arena) grow(size int) {
	r.taken++
	if r.text.Cap()-r.text.Len() >= size {
		return
	}
	if r.taken > fewSkills {
		size = max(size, roomBytes)
	}
	r.text = strings.Builder{}
	r.text.Grow(size)
}

// pack moves the texts of a skill into a room, and its lists into one.
func (r *arena) pack(s *pannier.Skill) {
	needs := &s.Requirements
	lists := append(make([]*[]string, 0, len(fields.Table)+7),
		&needs.Bins, &needs.AnyBins, &needs.Env, &needs.APIKeys, &needs.Config, &needs.MCP, &needs.OS)
	texts := make([]*string, 0, len(fields.Table))
	for i := range fields.Table {
		if f := &fields.Table[i]; f.Text != nil {
			texts = append(texts, f.Text(s))
		} else if f.List != nil {
			lists = append(lists, f.List(s))
		}
	}
	for i := range s.Commands {
		cmd := &s.Commands[i]
		texts = append(texts, &cmd.Name, &cmd.Description, &cmd.Args)
		for j := range cmd.Arguments {
			texts = append(texts, &cmd.Arguments[j].Name, &cmd.Arguments[j].Description)
		}
	}
	size, items := 0, 0
	for _, text := range texts {
		size += len(*text)
	}
	for _, list := range lists {
		items += len(*list)
		for _, text := range *list {
			size += len(text)
		}
	}
	r.grow(size)
	p := packer{folder: s.Folder, text: &r.text, items: make([]string, 0, items)}
	for _, text := range texts {
		*text = p.add(*text)
	}
	for _, list := range lists {
		*list = p.addList(*list)
	}
}

// packer takes in the texts of one skill.
type packer struct {
	folder string // what many a skill is called like
	text   *strings.Builder
	items  []string
}

func (p *packer) add(text string) string {
	if text == p.folder {
		return p.folder
	}
	from := p.text.Len()
	p.text.WriteString(text)
	return p.text.String()[from:]
}

func (p *packer) addList(list []string) []string {
	if len(list) == 0 {
		return list
	}
	from := len(p.items)
	for _, text := range list {
		p.items = append(p.items, p.add(text))
	}
	return p.items[from:len(p.items):len(p.items)]
}
