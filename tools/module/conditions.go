package module

import (
	"cmp"
	"strings"

	"pannier"
	"pannier/config"
)

// conditions say why programs of tools do not run, or run with less protection than the sandbox has on newer kernels.
// report is that of the runner, nil where there is none; failed is why there is none in this container.
func conditions(t config.Tools, report *pannier.RunnerReport, failed error) []pannier.Condition {
	one := func(code, subject, message, hint string) []pannier.Condition {
		return []pannier.Condition{{Code: code, Severity: pannier.SeverityWarning, Subject: subject, Message: message, Hint: hint}}
	}
	switch {
	case !t.Enabled || t.Runner == config.RunnerNone:
		return nil
	case failed != nil:
		return one("tools_directory_unusable", "tools.runner: self", "programs of tools cannot run here: "+failed.Error(),
			"make the temporary directory (TMPDIR) writable for the sidecar, and restart it")
	case report == nil || !report.Connected:
		return one("tools_runner_missing", "tools.runner: "+t.Runner, "no runner is connected, so programs of tools cannot be called",
			"start `pannier runner` in the agent's container, as a user in tools.runner_uids")
	case report.Exposed != "":
		return one("tools_private_exposed", "tools.runner: "+t.Runner, "programs of tools do not run: "+report.Exposed,
			"move it to a directory that the sandbox does not open to every program, such as /workspace, /configs or /var/lib, and restart the sidecar and the runner")
	case report.Level == pannier.SandboxRequired && len(report.Missing) == 0:
		return nil
	}
	missing := cmp.Or(strings.Join(report.Missing, "; "), "the kernel offers too little")
	switch {
	case t.Sandbox == pannier.SandboxBestEffort:
		return one("tools_weak_sandbox", "tools.sandbox: best_effort", "programs of tools run with less protection: "+missing,
			"use a kernel with Landlock ABI 6 and seccomp; `pannier runner --check` says more")
	case report.Level != pannier.SandboxRequired:
		return one("tools_weak_sandbox", "tools.sandbox: required", "programs of tools do not run, because the sandbox is too weak: "+missing,
			"use a kernel with Landlock ABI 6 and seccomp; `pannier runner --check` says more")
	}
	return nil
}
