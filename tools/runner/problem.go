package runner

import "encoding/json"

// problemOf returns what the body of a refusal says (RFC 9457), with its hint.
func problemOf(body []byte, status string) string {
	var problem struct {
		Detail string `json:"detail"`
		Hint   string `json:"hint"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
		return cleanText(status)
	}
	text := cleanText(problem.Detail)
	if problem.Hint != "" {
		text += "; " + cleanText(problem.Hint)
	}
	return text
}
