package config

import (
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// workspaceParser puts together what a config.yaml says, field by field.
type workspaceParser struct {
	reading
}

func (p *workspaceParser) fields(doc yamldoc.Value) {
	p.text(&p.w.Name, "name", doc)
	p.text(&p.w.Description, "description", doc)
	p.text(&p.w.Version, "version", doc)
	p.text(&p.w.Runtime, "runtime", doc)
	p.skills(doc.Get("skills"))
	p.a2a(doc.Get("a2a"))
	p.promptFiles(doc.Get(keyPrompts))
	p.w.Fields, p.w.Keys = digests(doc), keysOf(doc)
}

// digests returns the digest of the meaning of each field, so that a new layout or comment does not count as a change.
func digests(doc yamldoc.Value) map[string]pannier.Digest {
	all := map[string]pannier.Digest{}
	var b []byte
	for pair := range doc.Pairs() {
		b = pair.Value.AppendMeaning(b[:0])
		all[pair.Key] = pannier.DigestOf(b)
	}
	return all
}

// text reads a text as it is written: `1.0` is "1.0" and `yes` is "yes".
func (p *workspaceParser) text(field *string, key string, doc yamldoc.Value) {
	v := doc.Get(key)
	switch v.Kind() {
	case yamldoc.Text:
		*field, _ = v.Text()
	case yamldoc.List, yamldoc.Map:
		p.warn(codeType, key, v, "this is "+v.Kind().String()+", not a text", "write the text on the line of the key")
	}
}

func (p *workspaceParser) a2a(v yamldoc.Value) {
	switch v.Kind() {
	case yamldoc.Map:
		p.truth(&p.w.Streaming, "a2a.streaming", v.Get("streaming"))
		p.truth(&p.w.PushNotifications, "a2a.push_notifications", v.Get("push_notifications"))
	case yamldoc.Text, yamldoc.List:
		p.warn(codeType, "a2a", v, "this is "+v.Kind().String()+", not a mapping", "write its keys on lines of their own, indented")
	}
}

// truth reads a truth value, also in the words that the agent's YAML 1.1 takes for one (YAML 1.1, "bool").
func (p *workspaceParser) truth(field *bool, key string, v yamldoc.Value) {
	if value, ok := v.Bool(); ok {
		*field = value
		return
	}
	if v.Kind() == yamldoc.Missing || v.Kind() == yamldoc.Null {
		return
	}
	text, _ := v.Text()
	switch strings.ToLower(text) {
	case "yes", "on", "true":
		*field = true
	case "no", "off", "false":
		*field = false
	default:
		p.warn(codeType, key, v, "not a boolean", "write true or false")
		return
	}
	p.warn(codeBool, key, v, shown(text)+" is a text to some readers and a truth value to others", "write true or false, without quotes")
}
