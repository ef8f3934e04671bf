package files

import (
	"context"
	"net/http"

	"pannier/publish/molecule"
)

// RemoveAll removes files below a directory, all but those that keep says, and looks which of them are still there. why is
// what the platform said when it removed none; the platform that this is made after always says something.
func (c *Client) RemoveAll(ctx context.Context, dir string, keep func(name string) bool) (left []string, why, err error) {
	names, err := c.others(ctx, dir, keep)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	for _, name := range names {
		if why = c.remove(ctx, name); why != nil {
			break // the others would be answered the same
		}
	}
	if why != nil && !is(why, "platform.answer") {
		return names, nil, why
	}
	left, err = c.others(ctx, dir, keep)
	return left, why, err
}

func (c *Client) others(ctx context.Context, dir string, keep func(name string) bool) ([]string, error) {
	entries, err := c.Tree(ctx, dir)
	var names []string
	for _, e := range entries {
		if !e.Dir && !keep(e.Path) {
			names = append(names, e.Path)
		}
	}
	return names, err
}

// remove asks the platform to remove a file. Its answer does not say that the file is gone.
func (c *Client) remove(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return c.ask(ctx, molecule.Call{Method: http.MethodDelete, Target: c.target(name), Limit: maxErrorBytes}, nil)
}
