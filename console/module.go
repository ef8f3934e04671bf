package console

import (
	"pannier/config"
	"pannier/publish/api"
	"pannier/sidecar"
)

// Module serves the page on the TCP listener of the API, where the settings say so.
func Module() sidecar.Module {
	return sidecar.Module{
		Name: "console",
		Settings: func(s config.Settings) error {
			if s.TCP.Console && s.TCP.APIListen == "" {
				return &sidecar.Error{
					Message: "console needs api_listen: the socket is not reached by a browser",
					Hint:    "give --api-listen too, or run `pannier console`",
				}
			}
			return nil
		},
		Page: func(s config.Settings) *api.Page {
			if !s.TCP.Console {
				return nil
			}
			return &api.Page{
				Handler: Handler(Options{Mode: ModeToken, EmbedOrigins: s.TCP.AllowOrigins}),
				IsPath:  func(path string) bool { return path == "/" || IsPath(path) },
			}
		},
	}
}
