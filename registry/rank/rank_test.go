package rank_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/rank"
)

func skill(slug, description string, more ...func(*pannier.Skill)) *pannier.Entry {
	s := &pannier.Skill{Slug: slug, Name: slug, Description: description, Path: "skills/" + slug}
	for _, set := range more {
		set(s)
	}
	return &pannier.Entry{Skill: s}
}

func some() []*pannier.Entry {
	return []*pannier.Entry{
		skill("browser-use", "Drive a web browser to click, type and take screenshots of pages."),
		skill("clerk-setup", "Add authentication with Clerk: sign-up, sign-in, sessions, organizations."),
		skill("csv-report", "Summarize CSV files in a report with totals per column."),
		skill("docx", "Create and edit Word documents with tracked changes, comments and tables."),
		skill("kubernetes-operator", "Write controllers for Kubernetes and custom resources."),
		skill("pdfForms", "Fill in form fields of PDF files, and read them."),
		skill("pptx", "Create presentations from an outline, and edit them."),
		skill("resume-builder", "Tailor a résumé to a job.", func(s *pannier.Skill) { s.Tags = []string{"career"} }),
		skill("weather", "Current conditions.", func(s *pannier.Skill) { s.Triggers = []string{"will it rain"} }),
		skill("xlsx", "Read, write and recalculate Excel workbooks."),
	}
}

func slugs(hits []rank.Hit) []string {
	list := make([]string, len(hits))
	for i, h := range hits {
		list[i] = h.Skill.Slug
	}
	return list
}

func TestTheRightSkillIsFirst(t *testing.T) {
	x := rank.New(some())
	for _, c := range []struct{ what, text, first string }{
		{"a word of the name", "something is wrong with my kubernetes cluster", "kubernetes-operator"},
		{"a part of a camel-case name", "a pdf with fields to fill", "pdfForms"},
		{"another form of a word", "summarizing this CSV", "csv-report"},
		{"a typing error: a letter missing", "make a presentaton for monday", "pptx"},
		{"a typing error: letters exchanged", "edit the docmuents", "docx"},
		{"a typing error at the beginning", "an rutline for my talk", "pptx"},
		{"accents", "my resume for a JOB", "resume-builder"},
		{"accents in the text", "mon résumé", "resume-builder"},
		{"a related word", "I need a slide deck", "pptx"},
		{"a related word of two parts", "users cannot sign in", "clerk-setup"},
		{"German", "Bitte baue mir eine Präsentation", "pptx"},
		{"Chinese", "帮我做一个幻灯片", "pptx"},
		{"a trigger", "will it rain tomorrow", "weather"},
		{"a tag", "career advice", "resume-builder"},
	} {
		t.Run(c.what, func(t *testing.T) {
			hits := x.Rank(c.text, nil, 0)
			if len(hits) == 0 || hits[0].Skill.Slug != c.first {
				t.Fatalf("%q ranks %v, want %s first", c.text, slugs(hits), c.first)
			}
			if len(hits[0].Matched) == 0 {
				t.Error("no matched words")
			}
		})
	}
}

func TestTextsAboutNothing(t *testing.T) {
	x := rank.New(some())
	for _, text := range []string{"", "thanks, that is it", "…!?", "ok", "what do you think about that?", strings.Repeat("x", 1<<20), "\x00\xff\xfe", "🙂🙂"} {
		for _, h := range x.Rank(text, nil, 0) {
			if h.Likely() {
				t.Errorf("%.40q claims %s with %v", text, h.Skill.Slug, h.Score)
			}
		}
	}
}

// A request is found at the beginning and at the end of a long text, such as one with a log in it.
func TestRequestBesideALog(t *testing.T) {
	x := rank.New(some())
	log := ""
	for i := range 3000 {
		log += fmt.Sprintf("error %d word%d in the controller of the browser\n", i, i*7)
	}
	for _, text := range []string{"recalculate my excel workbook\n" + log, log + "recalculate my excel workbook"} {
		if hits := x.Rank(text, nil, 0); hits[0].Skill.Slug != "xlsx" {
			t.Errorf("%.40q… ranks %v", text, slugs(hits))
		}
	}
}

// A skill with many words as triggers does not come first.
func TestStuffedTriggers(t *testing.T) {
	x := rank.New(append(some(), skill("a-grab", "Grabs.", func(s *pannier.Skill) { s.Triggers = []string{"report", "csv", "excel", "pdf", "deck", "column"} })))
	if hits := x.Rank("summarize the CSV files in a report with totals per column", nil, 0); hits[0].Skill.Slug != "csv-report" {
		t.Errorf("ranked %v", slugs(hits))
	}
}

func TestEarlierTextsCountLess(t *testing.T) {
	x := rank.New(some())
	if got := slugs(x.Rank("and now as a presentation", []string{"recalculate the excel workbook"}, 0)); got[0] != "pptx" || got[1] != "xlsx" {
		t.Errorf("ranked %v, want pptx, then xlsx", got)
	}
	if got := slugs(x.Rank("go on with that", []string{"recalculate the excel workbook", "my kubernetes cluster"}, 0)); got[0] != "xlsx" || got[1] != "kubernetes-operator" {
		t.Errorf("ranked %v, want xlsx, then kubernetes-operator", got)
	}
}

// A skill whose description has every word must not come before the one that the text is about.
func TestStuffedDescription(t *testing.T) {
	entries := some()
	var all strings.Builder
	for _, e := range entries {
		all.WriteString(strings.Repeat(e.Slug+" "+e.Description+" ", 20))
	}
	x := rank.New(append(entries, skill("a-stuffed", all.String())))
	for _, text := range []string{"fill the form fields of this pdf", "make a presentation", "excel workbook", "sign in with clerk", "kubernetes controllers", "take screenshots in the browser", "a csv report"} {
		if first := x.Rank(text, nil, 0)[0].Skill.Slug; first == "a-stuffed" {
			t.Errorf("%q ranks the stuffed skill first", text)
		}
	}
}

// An index that was updated any number of times answers as one that is made of the same skills.
func TestUpdateEqualsNew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("pdf form forms browser browsing excel workbook report reports deploy deployment release kubernetes cluster presentation outline document security scanner database queries")
	made := 0
	fresh := func() *pannier.Entry {
		made++
		var text []string
		for range 3 + random.IntN(12) {
			text = append(text, words[random.IntN(len(words))])
		}
		return skill(fmt.Sprintf("%s-%03d", words[random.IntN(len(words))], made), strings.Join(text, " "))
	}
	entries := []*pannier.Entry{}
	for range 300 {
		entries = append(entries, fresh())
	}
	x := rank.New(entries)
	for round := range 60 {
		next := append([]*pannier.Entry{}, entries...)
		for range 1 + random.IntN(6) {
			switch i := random.IntN(len(next)); random.IntN(3) {
			case 0:
				next[i] = fresh()
			case 1:
				next = append(next[:i], next[i+1:]...)
			case 2:
				next = append(next, fresh())
			}
		}
		entries = next
		x = x.Update(entries)
		want := rank.New(entries)
		for _, text := range []string{"pdf forms", "deploymnet of a kubernets cluster", "presentation about databse security"} {
			if got, want := x.Rank(text, []string{"excel"}, 0), want.Rank(text, []string{"excel"}, 0); !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: %q ranks %v, a new index %v", round, text, slugs(got), slugs(want))
			}
		}
	}
}

func FuzzRank(f *testing.F) {
	f.Add("fill the pdf", "fooBar-Baz")
	f.Add("幻灯片 ß Ł é\u0301", "ÄÖ")
	x := rank.New(some())
	f.Fuzz(func(t *testing.T, text, description string) {
		hits := x.Rank(text, []string{description}, 0)
		for i := 1; i < len(hits); i++ {
			if hits[i].Score > hits[i-1].Score {
				t.Fatal("not ordered by score")
			}
		}
		rank.New([]*pannier.Entry{skill("a", description)}).Rank(text, nil, 0)
	})
}

func many(n int) []*pannier.Entry {
	random := rand.New(rand.NewPCG(3, 4))
	var entries []*pannier.Entry
	for i := range n {
		var text []string
		for range 30 {
			text = append(text, fmt.Sprintf("w%s%d", string(rune('a'+random.IntN(26))), int(random.ExpFloat64()*2000)))
		}
		entries = append(entries, skill(fmt.Sprintf("skill-%05d", i), strings.Join(text, " ")))
	}
	return entries
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		entries := many(n)
		x := rank.New(entries)
		text := "please " + entries[7].Description[:80] + " unknownwords misspeling"
		long := strings.Repeat(text+" ", 256<<10/len(text))
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			for b.Loop() {
				x.Rank(text, nil, 0)
			}
		})
		b.Run(fmt.Sprintf("skills=%d/text=256KiB", n), func(b *testing.B) {
			for b.Loop() {
				x.Rank(long, nil, 0)
			}
		})
		b.Run(fmt.Sprintf("skills=%d/update", n), func(b *testing.B) {
			changed := append([]*pannier.Entry{}, entries...)
			changed[n/2] = skill("skill-new", "something else")
			for b.Loop() {
				x.Update(changed)
			}
		})
		b.Run(fmt.Sprintf("skills=%d/new", n), func(b *testing.B) {
			for b.Loop() {
				rank.New(entries)
			}
		})
	}
}
