package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"

	"pannier/internal/yamldoc"
)

// platformSection is the one section that can be a list, because there can be several platforms.
const platformSection = "platform"

// enterPlatforms takes a list of platforms. The first is the one that flags and variables set.
func (f *settingsFile) enterPlatforms(g given) {
	items, _ := g.items()
	for i, item := range items {
		if item.node.Kind() != yamldoc.Map {
			f.add(item.fault("this is "+item.node.Kind().String()+", not a mapping", "write - url: and the address"))
			continue
		}
		if i == 0 {
			f.walk(platformSection+".", platformSection+".", item.node, f.values)
			continue
		}
		values := map[string]given{platformSection: item}
		f.walk(platformSection+".", item.name+".", item.node, values)
		f.further = append(f.further, values)
	}
}

// completePlatforms puts the platforms together, the first from wherever it is set, the others from the settings file.
func (l *settingsLoader) completePlatforms() {
	first := l.draft.platform
	first.WorkspaceID = cmp.Or(first.WorkspaceID, l.draft.WorkspaceID)
	if first.TokenFile == "" {
		first.TokenFile = filepath.Join(cmp.Or(l.variables["CONFIGS_DIR"], l.draft.Workspace), tokenName)
		first.TokenChecked = true
	}
	l.draft.Platforms = []Platform{first}
	if l.file == nil || len(l.file.further) == 0 {
		return
	}
	if !l.bad["platform.url"] {
		place := l.place("platform.url")
		switch first.URL {
		case "":
			l.faults = append(l.faults, place.fault("the first of several platforms has no url", "give each one its own; the embedded platform can only be alone"))
		case PlatformOff:
			l.faults = append(l.faults, place.fault("off can only be alone, and the settings file has several platforms", "leave the others out"))
		}
	}
	for _, values := range l.file.further {
		if p, ok := l.readPlatform(values); ok {
			l.addPlatform(p, values[platformSection])
		}
	}
}

// readPlatform reads a platform behind the first, which only the settings file gives.
func (l *settingsLoader) readPlatform(values map[string]given) (Platform, bool) {
	var d draft
	faults := len(l.faults)
	for i := range table {
		s := &table[i]
		if !strings.HasPrefix(s.key, platformSection+".") {
			continue
		}
		g, ok := values[s.key]
		switch {
		case ok && g.node.Kind() != yamldoc.Null:
			l.faults = append(l.faults, s.read(&d, g)...)
		case s.fallback != "":
			s.read(&d, given{name: s.key, texts: []string{s.fallback}})
		}
	}
	return d.platform, len(l.faults) == faults
}

func (l *settingsLoader) addPlatform(p Platform, place given) {
	p.WorkspaceID = cmp.Or(p.WorkspaceID, l.draft.WorkspaceID)
	switch {
	case p.URL == "":
		l.faults = append(l.faults, place.fault("this platform has no url", "write - url: and the address"))
		return
	case p.URL == PlatformOff:
		l.faults = append(l.faults, place.fault("off can only be alone", "leave this platform out"))
		return
	}
	for _, other := range l.draft.Platforms {
		if p.WorkspaceID == other.WorkspaceID && baseAddress(p.URL) == baseAddress(other.URL) {
			l.faults = append(l.faults, place.fault("this platform is there already, with the same workspace", "remove one of the two, or give one a workspace_id of its own"))
			return
		}
	}
	l.draft.Platforms = append(l.draft.Platforms, p)
}

// baseAddress writes an address in one way: names of hosts are the same in either case, the usual port of a scheme need
// not be said (RFC 3986, 6.2.2.1 and 6.2.3), and a slash at the end leads to the same endpoint.
func baseAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host := strings.ToLower(u.Host)
	switch strings.ToLower(u.Scheme) {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return strings.ToLower(u.Scheme) + "://" + host + strings.TrimRight(u.Path, "/")
}
