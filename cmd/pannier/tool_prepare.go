package main

import (
	"context"
	"fmt"
	"strings"

	"pannier"
	"pannier/publish/client"
)

// prepareTools installs what the scripts of a skill declare, and prints what the installers say.
func (p *program) prepareTools(ctx context.Context, c *client.Client, slug string) error {
	sayf(p.err, "installing what the scripts of %s declare …", slug)
	prepared, err := c.PrepareTools(ctx, slug)
	show := func(prepared pannier.PreparedSkill) error {
		if text := pannier.CleanLines(prepared.Output); text != "" {
			fmt.Fprintln(p.out, strings.TrimSuffix(text, "\n"))
		}
		if e := prepared.Error; e != nil {
			p.printError(&exitError{message: e.Code + ": " + e.Message, hint: e.Hint})
		}
		return nil
	}
	return judged(output(p, show)(prepared, err), !prepared.OK)
}
