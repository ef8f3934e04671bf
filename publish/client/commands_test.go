package client_test

import (
	"errors"
	"testing"

	"pannier/publish/client"
)

func TestCommands(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		list, err := c.Commands(t.Context())
		if err != nil || list.SnapshotVersion != 3 || len(list.Commands) != 2 || list.Commands[1].Name != "pdf" {
			t.Errorf("%+v %v", list, err)
		}
		for _, name := range []string{"pdf", "/pdf", "/skill:acme/pdf", "PDF@some_bot"} {
			run, err := c.RunCommand(t.Context(), name, " fill <in> ")
			if err != nil || run.Slug != "pdf" || run.Args != "fill <in>" || run.Text != "body of pdf\n\nARGUMENTS: fill <in>\n" {
				t.Errorf("%s: %+v %v", name, run, err)
			}
		}
		for name, code := range map[string]string{".": "command_not_found", "../card": "command_not_found", "/../../metrics": "command_not_found", "a?b=c": "command_not_found", "%2e": "command_not_found", "\x00": "command_not_found", "off": "skill_ineligible"} {
			_, err := c.RunCommand(t.Context(), name, "")
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != code {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}
