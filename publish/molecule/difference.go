package molecule

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differing is where a registered card differs from ours.
type differing struct {
	// place is of the first difference, such as skills.0.tags, empty where there is none.
	place string
	// other says that a value of ours is another one, or is not there: more than members that are new or were left out.
	other bool
}

// difference returns the first place where a registered card is not as ours, and whether it is ours still, in another form:
// with further members in its lists, or without some of them.
func difference(registered, own json.RawMessage) (place string, altered bool) {
	var d differing
	theirs, _ := decode(registered).(map[string]any)
	ours, _ := decode(own).(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if their, has := theirs[key]; has {
			d.walk([]string{key}, their, ours[key])
		} else {
			d.note([]string{key}, true)
		}
	}
	return d.place, d.place != "" && !d.other
}

func (d *differing) note(place []string, other bool) {
	d.other = d.other || other
	if d.place == "" {
		d.place = printable(strings.ToValidUTF8(strings.Join(place, "."), ""))
	}
}

func (d *differing) walk(place []string, their, our any) {
	switch our := our.(type) {
	case map[string]any:
		if their, ok := their.(map[string]any); ok {
			d.walkObject(place, their, our)
			return
		}
	case []any:
		if their, ok := their.([]any); ok && len(their) == len(our) {
			for i := range our {
				d.walk(append(slices.Clip(place), fmt.Sprint(i)), their[i], our[i])
			}
			return
		}
	}
	if !equal(their, our) {
		d.note(place, true)
	}
}

func (d *differing) walkObject(place []string, their, our map[string]any) {
	all := maps.Clone(their)
	maps.Copy(all, our)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		at := append(slices.Clip(place), key)
		t, has := their[key]
		o, sent := our[key]
		if has && sent {
			d.walk(at, t, o)
		} else {
			d.note(at, false)
		}
	}
}
