package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestExampleMany runs a conversation with 300 skills: the right one is first in the prompt and in what find_skills returns, and a turn
// about nothing has the skills first that were read before it, then one that the messages before it are about.
func TestExampleMany(t *testing.T) {
	t.Parallel()
	e := examples[0]
	if _, err := exec.LookPath(e.interpreter); err != nil {
		t.Skip(err)
	}
	verbs := strings.Fields("archive audit compare convert export merge review schedule sort translate")
	things := strings.Fields("agenda badge budget calendar contract diagram email forecast glossary invoice itinerary label ledger memo newsletter " +
		"payroll photo poll quote receipt recipe refund roster survey ticket timesheet transcript video voucher warranty")
	departments := strings.Fields("finance legal research sales support travel")
	var script strings.Builder
	for i, verb := range verbs {
		for j, thing := range things {
			script.WriteString(skillScript(verb+"-"+thing, fmt.Sprintf("Helps to %s each %s of the %s department, asks before it changes anything, and writes a summary of its work.",
				verb, thing, departments[(i+j)%len(departments)])))
		}
	}
	// Only people may call this one: find returns it, and the example must not show it to the model.
	script.WriteString("mkdir skills/hidden; printf -- '---\\nname: hidden\\ndescription: Helps to convert each invoice of the finance department to CSV.\\ndisable-model-invocation: true\\n---\\nHidden.\\n' > skills/hidden/SKILL.md\n")
	w := newWorkspace(t)
	writeIn(t, w, script.String())
	s := startSidecar(t, w, "--platform-url", "off")

	cmd := e.command(s.socket, e.dir+"/many.py", "convert the invoices of finance to CSV", "archive the receipts of legal", "thanks", "")
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); err != nil || !strings.Contains(notes.String(), "a stub model") {
		t.Fatalf("%v\n%s%s", err, &out, &notes)
	}
	const budget = `prompt: (1\d{3}|2000) tokens, shortened: {'description_end': \d+, 'description': \d+}, omitted: 0\n`
	want := regexp.MustCompile(`(?s)\Afirst: convert-invoice, matched: \['invoices', 'convert', 'finance'\]\n.*` + budget +
		`find_skills\('convert the invoices of finance to CSV'\):\nconvert-invoice: Helps to convert .*\nread_skill\('convert-invoice'\):\nDo it\.\n` +
		`first: archive-receipt, matched: \['receipts', 'archive', 'legal'\]\n.*` + budget +
		`find_skills\('archive the receipts of legal'\):\narchive-receipt: Helps to archive .*\nread_skill\('archive-receipt'\):\nDo it\.\n` +
		`first: archive-receipt, matched: no relevance\nfirst: convert-invoice, matched: no relevance\nfirst: \w+-(receipt|invoice), matched: no relevance\n` + budget + `find_skills\('thanks'\):\n\n` +
		`first: archive-receipt, .*find_skills\(''\):\nrefused: the text is empty .*\n\z`)
	if !want.MatchString(out.String()) || strings.Contains(out.String(), "hidden") {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
