// Command skills lists skills, reads one, and prints the events of that, over the unix socket and with the client that oapi-codegen
// makes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"pannier/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", os.Getenv("PANNIER_SOCKET"))
	}
	c, err := client.NewClientWithResponses("http://pannier", client.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: dial}}))
	if err != nil {
		return err
	}
	list, err := c.ListSkillsWithResponse(ctx, &client.ListSkillsParams{
		Include: &[]client.ListSkillsParamsInclude{client.ListSkillsParamsIncludePolicy, client.ListSkillsParamsIncludeHealth},
	})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list skills: %s %s", list.Status(), list.Body)
	}
	for _, skill := range list.JSON200.Skills {
		fmt.Println(skill.Slug)
	}
	if _, err := c.GetContentWithResponse(ctx, list.JSON200.Skills[0].Slug, nil); err != nil {
		return err
	}
	missing, err := c.GetSkillWithResponse(ctx, "missing", nil)
	if err != nil {
		return err
	}
	fmt.Println(missing.StatusCode(), missing.ApplicationproblemJSON4XX.Code)
	return printEvents(ctx, c)
}

func printEvents(ctx context.Context, c *client.ClientWithResponses) error {
	follow, after := false, int64(0)
	res, err := c.FollowEvents(ctx, &client.FollowEventsParams{
		Types: &[]client.EventType{client.EventTypeSkillCatalogUpdated, client.EventTypeSkillLoaded}, Follow: &follow, LastEventID: &after,
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event client.Event
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			return err
		}
		value, err := event.ValueByDiscriminator()
		if err != nil {
			return err
		}
		switch e := value.(type) {
		case client.SkillCatalogUpdatedEvent:
			fmt.Println(e.Type, len(e.Data.Added))
		case client.SkillLoadedEvent:
			fmt.Println(e.Type, e.Data.Name, (*e.Data.Frontmatter)["name"])
		}
	}
	return lines.Err()
}
