package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

// maxPacket bounds a packet, as the socket does.
const maxPacket = 1 << 20

func (p *program) promoteCommand() *cobra.Command {
	var to string
	var record bool
	cmd := &cobra.Command{
		Use:   "promote PACKET --to DIR",
		Short: "Write the draft of a skill from a memory packet",
		Long: `Reads a memory packet that asks for a workflow to become a skill, and writes a draft of SKILL.md
into a folder of DIR. It never writes into the workspace: review the draft, then run "pannier
install".

--record also sends the packet to the sidecar, like "POST /v1/promotions". The sidecar records an
event and an audit entry, and reports an activity to the platform. PACKET is a file, or - for
standard input.`,
		Example: `  pannier promote packet.json --to ./drafts
  pannier promote - --to ./drafts --record < packet.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			packet, err := readPacket(args[0])
			if err != nil {
				return err
			}
			promotion, err := pannier.ParsePromotion(packet)
			if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
				return answerNo(refusal.Message, refusal.Hint)
			}
			if err != nil {
				return err
			}
			if to == "" && !record {
				return failure("promote needs a directory for the draft",
					"name it with --to; --record alone sends the packet and writes nothing")
			}
			if to != "" { // before the promotion is recorded, which cannot be undone
				err = p.draft(promotion, to)
			}
			if err != nil || !record {
				return err
			}
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				recorded, err := c.Promote(ctx, promotion.Packet)
				if err != nil {
					return err
				}
				return p.printPromotion(recorded)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`directory` for the folder of the draft")
	cmd.Flags().BoolVar(&record, "record", false, "send the packet to the sidecar")
	return p.share(cmd, append(asksSidecar, "root")...)
}

// printPromotion says what became of a promotion that was recorded. A platform that did not take it is a "no".
func (p *program) printPromotion(recorded pannier.SkillPromotion) error {
	var refused []string
	fmt.Fprintf(p.out, "recorded: %s\n", plain.Text(recorded.Summary))
	for _, r := range recorded.Platforms {
		if r.Error == "" {
			fmt.Fprintf(p.out, "%s: accepted\n", plain.Text(r.Platform))
			continue
		}
		kept := "not kept"
		if r.Kept {
			kept = "kept, and sent again until it is accepted"
		}
		refused = append(refused, fmt.Sprintf("%s: %s (%s)", r.Platform, r.Error, kept))
	}
	if len(refused) == 0 {
		return nil
	}
	return answerNo("recorded, but not accepted by "+strings.Join(refused, "; "),
		"\"pannier health\" shows what still waits as promotion_pending")
}

func readPacket(name string) ([]byte, error) {
	from := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, failure(err.Error(), "")
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPacket+1))
	if err == nil && len(text) > maxPacket {
		err = answerNo(fmt.Sprintf("the packet has more than %d bytes", maxPacket), "")
	}
	return text, err
}

// draft writes the SKILL.md that a packet leads to into a new folder. A folder that is there stays as it is.
func (p *program) draft(promotion pannier.Promotion, to string) error {
	slug, text := draftOf(promotion)
	dir := filepath.Join(to, slug)
	if err := p.outsideWorkspace(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return failure(err.Error(), "")
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return answerNo(dir+" exists", "review it first, or name another directory with --to")
	} else if err != nil {
		return failure(err.Error(), "")
	}
	file := filepath.Join(dir, pannier.SkillFile)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return failure(errors.Join(err, os.RemoveAll(dir)).Error(), "")
	}
	_, err := fmt.Fprintln(p.out, plain.Text(file))
	return err
}

// outsideWorkspace refuses a draft among the skills of the workspace, where it would be served at once.
func (p *program) outsideWorkspace(dir string) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for real := filepath.Dir(at); ; real = filepath.Dir(real) {
		if resolved, err := filepath.EvalSymlinks(real); err == nil {
			at = resolved + strings.TrimPrefix(at, real)
			break
		}
		if real == filepath.Dir(real) {
			break
		}
	}
	for _, root := range s.Roots {
		path := root.Path
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		if rel, err := filepath.Rel(path, at); err == nil && filepath.IsLocal(rel) {
			return answerNo(at+" is in the workspace, where a draft would be served at once",
				"name a directory elsewhere with --to, review the draft, and use `pannier install`")
		}
	}
	return nil
}
