package profile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

const (
	// maxBundleBytes bounds a bundle: ClawHub says 50 MB and counts in powers of two.
	maxBundleBytes = 50 << 20
	// maxFilesNamed bounds the files that are told of one by one.
	maxFilesNamed  = 20
	clawHubLicense = "MIT-0"
)

var clawHubSlug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// ClawHub judges whether ClawHub would take a skill as a bundle: a slug that fits a URL, nothing but text, 50 MB in all
// (Molecule skills, "ClawHub Compatibility"; ClawHub, "Skill format"). Frontmatter is optional there. Files that are not
// listed are not judged.
func ClawHub(s Skill) []pannier.Problem {
	c := newCheck(&s, "clawhub")
	c.file("SKILL.md", "skill.md")
	clawHubName(c)
	v := c.Front.Get("license")
	license := c.License
	if v.Kind() == yamldoc.Map {
		license, _ = v.Get("spdx").Text()
	}
	license = strings.TrimSpace(license)
	if license != "" && !strings.EqualFold(license, clawHubLicense) {
		c.warn("clawhub.license.other", "license", placeOf(v), "the licence is "+quote(license)+", and everything published on ClawHub is under "+clawHubLicense,
			"publish it only if you may give it away under "+clawHubLicense+", and then write `license: "+clawHubLicense+"`")
	}
	if s.Files != nil {
		clawHubFiles(c)
	}
	return c.done()
}

// clawHubName judges the slug that a skill would be published under: its own, else the name of its folder.
func clawHubName(c *check) {
	v := c.Front.Get("slug")
	slug, field := c.Folder, ""
	if text, ok := v.Text(); ok && strings.TrimSpace(text) != "" {
		slug, field = strings.TrimSpace(text), "slug"
	}
	if slug == "" || clawHubSlug.MatchString(slug) {
		return
	}
	what, hint := "the folder", "add `slug:` with lower-case letters, digits and hyphens, or rename the folder so"
	if field != "" {
		what, hint = "the slug", "write lower-case letters, digits and hyphens"
	}
	if better := proposal(slug); better != "" {
		hint = "write `slug: " + better + "`"
	}
	c.fail("clawhub.slug.format", field, placeOf(v), what+" "+quote(slug)+" is not a slug of lower-case ASCII letters, digits and hyphens", hint)
}

func clawHubFiles(c *check) {
	files, rules := bundle(c.Skill)
	if rules.cut {
		c.warn("clawhub.ignore.too_long", "", place{}, fmt.Sprintf("there are more than %d patterns of files to leave out; the others do not count", maxPatterns), "ignore whole directories")
	}
	listed := func(f pannier.File) bool { return f.Path == c.File }
	if slices.ContainsFunc(c.Files, listed) && !slices.ContainsFunc(files, listed) {
		c.fail("clawhub.file.ignored", "", place{}, "a pattern of files to leave out matches "+quote(c.File)+" itself", "add a last line `!/"+c.File+"` to .clawhubignore")
	}
	var total int64
	for _, f := range files {
		total += f.Size
	}
	if total > maxBundleBytes {
		c.fail("clawhub.bundle.size", "", place{}, fmt.Sprintf("the files have %d bytes, and at most %d are allowed", total, maxBundleBytes), "leave out the largest by .clawhubignore: "+largest(files))
	}
	clawHubTexts(c, files)
}

func largest(files []pannier.File) string {
	files = slices.SortedFunc(slices.Values(files), func(a, b pannier.File) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Path, b.Path))
	})
	var names []string
	for _, f := range files[:min(3, len(files))] {
		names = append(names, quote(f.Path))
	}
	return strings.Join(names, ", ")
}

func clawHubTexts(c *check, files []pannier.File) {
	var binary, unread []pannier.File
	for _, f := range files {
		if isText, known := inspectFile(c.Skill, f); !known {
			unread = append(unread, f)
		} else if !isText {
			binary = append(binary, f)
		}
	}
	const hint = "leave it out by .clawhubignore, or write it as text, in UTF-8"
	for _, f := range binary[:min(len(binary), maxFilesNamed)] {
		c.problems = append(c.problems, pannier.Problem{
			Code: "clawhub.file.binary", Severity: pannier.SeverityError, Path: c.pathOf(f.Path), Message: "the file is not text, and ClawHub accepts text only", Hint: hint,
		})
	}
	if more := len(binary) - maxFilesNamed; more > 0 {
		c.fail("clawhub.file.binary", "", place{}, fmt.Sprintf("%d more files are no text", more), hint)
	}
	if len(unread) > 0 {
		c.report(pannier.SeverityInfo, "clawhub.file.unread", "", place{}, fmt.Sprintf("%d files could not be read, such as %s", len(unread), quote(unread[0].Path)), "see to it that they can be read, or that they are text")
	}
}
