package resolve_test

import (
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

func TestReferences(t *testing.T) {
	for _, test := range []struct {
		name, text       string
		active, rejected string
	}{
		{"none", "please make a csv file", "", ""},

		{"command", "/skill:pdf", "pdf:reference", ""},
		{"arguments", "/skill:pdf report.md --a4 \"two words\"", `pdf:reference(report.md --a4 "two words")`, ""},
		{"blanks around", "  \t/skill:pdf \t a  b \t\r\nnext", "pdf:reference(a  b)", ""},
		{"on a later line", "first\n/skill:pdf x\nlast", "pdf:reference(x)", ""},
		{"several", "/skill:wanted x\n/skill:pdf y", "pdf:reference(y) wanted:reference(x)", ""},
		{"not in the middle of a line", "type /skill:pdf there", "", ""},
		{"not a path", "cat /skill/pdf /skills:pdf", "", ""},
		{"unknown command", "/skill:gone x", "", "gone:not_found"},
		{"unknown command in another script", "/skill:技能 x", "", "技能:not_found"},
		{"punctuation behind a command", "/skill:pdf.\n/skill:wanted, now", "pdf:reference wanted:reference(now)", ""},
		{"any writing of the slug", "/skill:PDF x", "pdf:reference(x)", ""},
		{"nothing behind the colon", "/skill: pdf\n@skill: pdf", "", ""},
		{"owner in a command", "/skill:acme/csv x", "csv:reference(x)", ""},
		{"a reference in the arguments", "/skill:pdf with $wanted", "pdf:reference(with $wanted) wanted:reference", ""},

		{"mention", "ask @skill:pdf", "pdf:reference", ""},
		{"mention in any writing", "ask @skill:PDF", "pdf:reference", ""},
		{"mention with owner", "@skill:acme/csv", "csv:reference", ""},
		{"mention with a wrong owner", "@skill:else/csv", "", "csv:not_found"},
		{"mention with the owner of the shadowed one", "@skill:zeta/csv", "", "csv:shadowed"},
		{"unknown mention", "ask @skill:gone", "", "gone:not_found"},
		{"unknown mention in another script", "ask @skill:技能", "", "技能:not_found"},
		{"a mention is a whole word", "ask @skill:pdfTools", "", "pdftools:not_found"},
		{"punctuation behind a mention", "(@skill:pdf), [@skill:csv]; \"@skill:wanted\".", "csv:reference pdf:reference wanted:reference", ""},
		{"end of a sentence", "use @skill:pdf. Then @skill:csv!", "csv:reference pdf:reference", ""},
		{"no blank before", "me@skill:pdf", "", ""},

		{"dollar", "use $pdf", "pdf:reference", ""},
		{"dollar with owner", "use $acme/csv", "csv:reference", ""},
		{"dollars", "$pdf $csv,$wanted", "csv:reference pdf:reference wanted:reference", ""},
		{"end of a question", "do you know $pdf?", "pdf:reference", ""},
		{"dash behind", "$pdf- yes; $csv_", "csv:reference pdf:reference", ""},
		{"unknown dollar", "use $gone and $acme/gone", "", ""},
		{"variables", "$HOME ${PATH} $Pdf $PDF $pdf_DIR", "", ""},
		{"a dollar is a whole word", "$pdfs $pdfTools $pdf.txt $pdf/readme.md", "", ""},
		{"sums", "$5 $5.00 $1,000 5$", "", ""},
		{"rejected", "$mac and $hidden and $unlisted", "", "mac:unsupported_platform hidden:not_user_invocable unlisted:unlisted"},
		{"e-mail", "me$pdf@example.com pdf@skill.com", "", ""},
		{"paths and addresses", "/home/$pdf https://x.test/?q=$pdf https://x.test/@skill:pdf a/$pdf", "", ""},
		{"code", "`$pdf` and '$csv'", "csv:reference pdf:reference", ""},

		{"words", "please use the pdf skill", "pdf:reference", ""},
		{"words after a fault", "I can't open it, use the pdf skill", "pdf:reference", ""},
		{"words that say no", "don't use the pdf skill. dont use the csv skill; stop using the csv skill, no need to use the pdf skill, did you use the pdf skill?", "", ""},
		{"the first way wins", "@skill:pdf and $pdf\n/skill:pdf args", "pdf:reference(args)", ""},
		{"the first arguments win", "/skill:pdf\n/skill:pdf one\n/skill:pdf two", "pdf:reference(one)", ""},
		{"an unknown dollar hides no mention", "$gone @skill:gone", "", "gone:not_found"},
		{"bytes that are no text", "\xff $pdf \xff\xfe@skill:gone /skill:", "pdf:reference", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := resolve.Resolve(house, pannier.Turn{Text: test.text})
			if active, rejected := said(r); active != test.active || rejected != test.rejected {
				t.Errorf("%q\nactive   %q\nrejected %q\nwant     %q\nand      %q", test.text, active, rejected, test.active, test.rejected)
			}
		})
	}
}

// A slug of digits alone is reached by the other ways; a dollar before it is a price.
func TestPriceIsNoReference(t *testing.T) {
	s := &pannier.Snapshot{Entries: []*pannier.Entry{entry("5"), entry("home")}}
	for text, want := range map[string]string{"it costs $5": "", "$5-": "", "@skill:5": "5:reference", "$HOME": "", "$home": "home:reference"} {
		if active, rejected := said(resolve.Resolve(s, pannier.Turn{Text: text})); active != want || rejected != "" {
			t.Errorf("%q: active %q, rejected %q", text, active, rejected)
		}
	}
}

func TestCapabilityKeepsTheArgumentsOfACommand(t *testing.T) {
	r := resolve.Resolve(house, pannier.Turn{Text: "/skill:pdf a b", Capabilities: []pannier.Capability{{Slug: "pdf"}}})
	if active, _ := said(r); active != "pdf:capability(a b)" {
		t.Errorf("active %s", active)
	}
}

func FuzzResolve(f *testing.F) {
	for _, text := range []string{"/skill:pdf a", "@skill:acme/csv", "$pdf $5", "\xff$", "/skill:\n@skill:", "$pdf\u202e"} {
		f.Add(text, "csv", "workspace", "crewai")
	}
	f.Fuzz(func(t *testing.T, text, slug, kind, runtime string) {
		r := resolve.Resolve(house, pannier.Turn{
			Text: text, Runtime: runtime, Capabilities: []pannier.Capability{{ID: "c", Slug: slug, SourceKind: pannier.SourceKind(kind)}},
		})
		seen := map[string]bool{}
		for _, a := range r.Active {
			e, ok := house.Lookup(a.Slug)
			if !ok || !e.Usable || seen[a.Slug] || a.Digest != e.Digest || a.SourceKind != e.SourceKind {
				t.Errorf("active %+v", a)
			}
			if a.Reason != pannier.ViaImplicit && !e.UserInvocable || a.Reason == pannier.ViaImplicit && !e.Automatic() {
				t.Errorf("%s is active by %s", a.Slug, a.Reason)
			}
			seen[a.Slug] = true
		}
		for _, x := range r.Rejected {
			if other := x.Reason == pannier.RejectedNotFound || x.Reason == pannier.RejectedShadowed || x.Reason == pannier.RejectedNotUserInvocable; seen[x.Slug] && !other {
				t.Errorf("%s is active and rejected: %+v", x.Slug, x)
			}
			if x.Reason == "" || x.Detail == "" || x.Diagnostics == nil {
				t.Errorf("rejected %+v", x)
			}
		}
	})
}
