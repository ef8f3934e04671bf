package client

import (
	"context"
	"encoding/json"
)

// CallError is the error of a call of JSON-RPC.
type CallError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error implements error.
func (e *CallError) Error() string { return e.Message }

// Call makes one call of JSON-RPC 2.0 and returns its result. params may be nil. Notifications need a WebSocket at the same
// path, which is not this client's.
func (c *Client) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		call["params"] = params
	}
	answer, err := post[struct {
		Result json.RawMessage `json:"result"`
		Error  *CallError      `json:"error"`
	}](ctx, c, "/v1/rpc", call)
	if err == nil && answer.Error != nil {
		err = answer.Error
	}
	return answer.Result, err
}
