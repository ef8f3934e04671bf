package loader

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

const (
	codeOverride = "skill.overrides.entry"
	overrideHint = "write `tools: {aliases, defaults}`, `model: {prefer, provider, effort}` or `context: {include, exclude, max_chars}`; " +
		"texts have at most 128 bytes"
)

// overrides reads what the skill proposes to override in the turns that choose it. A fault in an entry drops that one alone.
func (c *contract) overrides() []pannier.Override {
	v := c.front.Get("overrides")
	if v.Kind() != yamldoc.Map && v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
		c.warn(codeOverride, "overrides", v, "this is "+v.Kind().String()+" where a mapping belongs, and counts as absent", overrideHint)
		return nil
	}
	var found []pannier.Override
	all := 0
	add := func(part, key string, v yamldoc.Value, read func(yamldoc.Value) any) {
		field := "overrides." + part + "." + key
		all++
		if value := read(v); value == nil || len(key) > 3*pannier.MaxOverrideBytes {
			c.warn(codeOverride, field, v, "nothing that can be overridden, or not with this value, so it is left out", overrideHint)
		} else if text, err := json.Marshal(value); err == nil && len(found) < pannier.MaxOverrides {
			found = append(found, pannier.Override{Part: part, Key: key, Value: text})
		}
	}
	parts := []string{pannier.OverrideTools, pannier.OverrideModel, pannier.OverrideContext}
	for part := range v.Pairs() {
		if !slices.Contains(parts, part.Key) || part.Value.Kind() != yamldoc.Map {
			c.warn(codeOverride, "overrides."+part.Key, part.Value, "no part of a turn that a skill can override, so it is left out", overrideHint)
			continue
		}
		for pair := range part.Value.Pairs() {
			switch name := part.Key + "." + pair.Key; name {
			case "tools.aliases":
				for alias := range pair.Value.Pairs() {
					add(part.Key, "aliases."+alias.Key, alias.Value, named(alias.Key, overrideText))
				}
			case "tools.defaults":
				for tool := range pair.Value.Pairs() {
					for argument := range tool.Value.Pairs() {
						add(part.Key, "defaults."+tool.Key+"."+argument.Key, argument.Value, named(argument.Key, overrideScalar))
					}
				}
			case "model.prefer", "context.include", "context.exclude":
				add(part.Key, pair.Key, pair.Value, c.overrideTexts)
			case "model.provider", "model.effort":
				add(part.Key, pair.Key, pair.Value, overrideText)
			case "context.max_chars":
				add(part.Key, pair.Key, pair.Value, func(v yamldoc.Value) any {
					var n int
					if json.Unmarshal(v.JSON(), &n) != nil || n <= 0 {
						return nil
					}
					return n
				})
			default:
				add(part.Key, pair.Key, pair.Value, func(yamldoc.Value) any { return nil })
			}
		}
	}
	if all > pannier.MaxOverrides {
		c.warn("skill.overrides.count", "overrides", v, fmt.Sprintf("%d entries; those after the first %d are left out", all, pannier.MaxOverrides), "remove some")
	}
	return slices.Clip(found)
}

// named reads a value below a name, which must be one word without dots.
func named(name string, read func(yamldoc.Value) any) func(yamldoc.Value) any {
	return func(v yamldoc.Value) any {
		if !isOneWord(name) || strings.Contains(name, ".") || len(name) > pannier.MaxOverrideBytes {
			return nil
		}
		return read(v)
	}
}

func overrideText(v yamldoc.Value) any {
	text, ok := v.Text()
	if text = strings.TrimSpace(text); !ok || text == "" || len(text) > pannier.MaxOverrideBytes {
		return nil
	}
	return text
}

func overrideScalar(v yamldoc.Value) any {
	if text, ok := v.Text(); !ok || len(text) > pannier.MaxOverrideBytes {
		return nil
	}
	return v.JSON()
}

func (c *contract) overrideTexts(v yamldoc.Value) any {
	list := c.listOf(v, "overrides", fields.Split{})
	if len(list) == 0 || len(list) > pannier.MaxOverrides || slices.ContainsFunc(list, func(text string) bool { return len(text) > pannier.MaxOverrideBytes }) {
		return nil
	}
	return list
}
