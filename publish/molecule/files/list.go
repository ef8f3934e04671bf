package files

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

const (
	skillsKey      = "skills"
	maxConfigBytes = 1 << 20
)

// List is the list under skills: in config.yaml.
type List struct {
	// There says that there is one. Without it the entries are nil.
	There   bool
	Entries []string
}

// Has reports whether the list names the folder of a skill.
func (l List) Has(folder string) bool { return yamldoc.IndexEntry(l.Entries, folder) >= 0 }

// List reads the list of config.yaml. A list that cannot be read is a [*pannier.Refusal].
func (c *Client) List(ctx context.Context) (List, error) {
	text, err := c.readConfig(ctx)
	if err != nil || len(text) == 0 {
		return List{}, err
	}
	entries, there, err := yamldoc.Entries(text, skillsKey)
	if err != nil {
		return List{}, left(err.Error())
	}
	return List{there, entries}, nil
}

// Enlist has the list name a skill, where there is a list, and reports whether it was changed. Comments and all other
// bytes stay, but for the blank lines around the text, which the platform leaves out.
func (c *Client) Enlist(ctx context.Context, folder string) (bool, error) {
	return c.editConfig(ctx, func(text []byte) ([]byte, error) { return yamldoc.Enlist(text, skillsKey, folder) })
}

// Delist has the list name a skill no longer, and reports whether it was changed, as [Client.Enlist] does.
func (c *Client) Delist(ctx context.Context, folder string) (bool, error) {
	return c.editConfig(ctx, func(text []byte) ([]byte, error) { return yamldoc.Delist(text, skillsKey, folder) })
}

func (c *Client) editConfig(ctx context.Context, change func([]byte) ([]byte, error)) (bool, error) {
	text, err := c.readConfig(ctx)
	if err != nil || len(text) == 0 {
		return false, err
	}
	changed, err := change(text)
	if err != nil {
		return false, left(err.Error())
	}
	if bytes.Equal(changed, text) {
		return false, nil
	}
	_, err = c.Put(ctx, []File{{Path: pannier.WorkspaceFile, Content: string(changed)}})
	return err == nil, err
}

// readConfig returns config.yaml with the line end that the platform leaves out; empty where there is none.
func (c *Client) readConfig(ctx context.Context) ([]byte, error) {
	text, err := c.Read(ctx, pannier.WorkspaceFile)
	switch {
	case err != nil || text == "":
		return nil, err
	case len(text) > maxConfigBytes:
		return nil, left(fmt.Sprintf("it has more than %d bytes", maxConfigBytes))
	case strings.ContainsRune(text, '\uFFFD'):
		return nil, left("it is not UTF-8 text and would not be written back as it is")
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	return []byte(strings.TrimRight(text, "\r\n") + end), nil
}

func left(why string) error {
	return refuse("files.config", "config.yaml was left as it is: "+why, "edit the list under skills: by hand")
}
