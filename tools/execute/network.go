package execute

import (
	"fmt"
	"net"
	"regexp"
	"strconv"

	"pannier"
	"pannier/tools/sandbox"
)

var (
	proxyAddress = "http://127.0.0.1:" + strconv.Itoa(sandbox.ProxyPort)
	// proxyVariables lead programs to the proxy of their call, and not to it for servers that they start themselves. Node reads them if
	// the last one is set.
	proxyVariables = []string{
		"HTTP_PROXY=" + proxyAddress, "http_proxy=" + proxyAddress, "HTTPS_PROXY=" + proxyAddress, "https_proxy=" + proxyAddress,
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
	}
)

// unconnected is what programs print that connect without the proxy.
var unconnected = regexp.MustCompile(`(?is)network is unreachable|enetunreach|failure in name resolution|name or service not known|could not resolve host|` +
	`no such host|eai_again|enotfound|socket.{0,400}(operation not permitted|permission denied)`)

// addNetwork records the hosts that the program asked for. A failure says which of them the settings refuse, or that they refuse all.
func (c *call) addNetwork(result *pannier.ToolResult, failed *pannier.ToolError) {
	if c.proxy != nil {
		result.Network = c.proxy.Asked()
		for i := range result.Network {
			result.Network[i].Host = c.mask.String(result.Network[i].Host)
		}
	}
	if failed == nil || failed.Code != pannier.ToolFailed && failed.Code != pannier.ToolTimedOut {
		return
	}
	for _, h := range result.Network {
		host, port, _ := net.SplitHostPort(h.Host)
		if port != "80" && port != "443" {
			host = h.Host
		}
		switch h.Refused {
		case pannier.HostRefusedOff:
			failed.Message += fmt.Sprintf("; network is off: tools.network (it asked for %s)", h.Host)
		case pannier.HostRefusedNotListed:
			failed.Message += fmt.Sprintf("; tools.network does not list %s", h.Host)
		case pannier.HostRefusedPrivate:
			failed.Message += fmt.Sprintf("; the address of %s is not public", h.Host)
			failed.Hint = fmt.Sprintf("do without it, or ask the operator to add %s to tools.http_allow", host)
			return
		case pannier.HostUnreachable:
			failed.Message += fmt.Sprintf("; the runner did not reach %s", h.Host)
			failed.Hint = "check the name of the host, then call again"
			return
		default:
			continue
		}
		failed.Hint = fmt.Sprintf("do without it, or ask the operator to add %s to tools.network", host)
		return
	}
	if c.job.Network || !unconnected.MatchString(result.Output) {
		return
	}
	switch {
	case len(c.job.Hosts) > 0:
		failed.Message += "; hosts are reached through HTTP_PROXY and HTTPS_PROXY only (tools.network)"
		failed.Hint = "use a client that reads these variables"
	case c.proxy == nil:
		failed.Message += "; network is off: tools.network, and the kernel of the runner gives tools no loopback of their own either"
		failed.Hint = "do without it, or ask the operator to look at \"pannier runner --check\""
	default:
		failed.Message += "; network is off: tools.network"
		failed.Hint = "do without it, or ask the operator to list the host in tools.network"
	}
}
