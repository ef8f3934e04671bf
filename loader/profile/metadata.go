package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pannier/internal/yamldoc"
)

// errNoObject says that a text does not even look like a JSON object.
var errNoObject = errors.New("expected a JSON object")

// metadata calls judge with the mapping below `metadata`, which may also be written as JSON in a text; problems that judge
// tells then have the place of that text. Of anything else it says nothing.
func (c *check) metadata(judge func(all yamldoc.Value)) {
	v := c.Front.Get("metadata")
	if text, ok := v.Text(); ok {
		if all, err := FromJSON(text); err == nil {
			c.within = placeOf(v)
			judge(all)
			c.within = place{}
		}
		return
	}
	judge(v)
}

// FromJSON reads a text as a JSON object. The detour over encoding/json reads what JSON allows and YAML does not, such as
// escaped surrogate pairs, and leaves keys in the order of bytes.
func FromJSON(text string) (yamldoc.Value, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return yamldoc.Value{}, errNoObject
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return yamldoc.Value{}, err
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return yamldoc.Value{}, err
	}
	v, _, err := yamldoc.Parse(plain)
	return v, err
}

// Version returns the version that a skill gives itself: `version`, else `metadata.version`, where the Agent Skills specification
// has it. It is missing where neither is a text.
func Version(front yamldoc.Value) yamldoc.Value {
	if v := front.Get("version"); isFilled(v) {
		return v
	}
	all := front.Get("metadata")
	if text, ok := all.Text(); ok {
		all, _ = FromJSON(text)
	}
	if v := all.Get("version"); isFilled(v) {
		return v
	}
	return yamldoc.Value{}
}

func isFilled(v yamldoc.Value) bool {
	text, ok := v.Text()
	return ok && strings.TrimSpace(text) != ""
}

// isText reports whether a value is a text to readers that know types: `1.0` and `true` are none.
func isText(v yamldoc.Value) bool {
	return v.Kind() == yamldoc.Text && (v.Quoted() || v.JSON()[0] == '"')
}

// shapeOf names what a value is to readers that know types.
func shapeOf(v yamldoc.Value) string {
	if v.Kind() != yamldoc.Text || isText(v) {
		return v.Kind().String()
	}
	text, _ := v.Text()
	if _, ok := v.Bool(); ok {
		return fmt.Sprintf("%s, true or false and not a text", quote(text))
	}
	return fmt.Sprintf("%s, a number", quote(text))
}
