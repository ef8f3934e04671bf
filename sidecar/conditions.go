package sidecar

import (
	"strings"

	"pannier"
)

func condition(code string, severity pannier.Severity, subject, message, hint string) pannier.Condition {
	return pannier.Condition{Code: code, Severity: severity, Subject: subject, Message: message, Hint: hint}
}

// problemCondition returns a problem as a condition of health.
func problemCondition(p pannier.Problem) pannier.Condition {
	return condition(conditionCode(p.Code), p.Severity, p.Place(), p.Message, p.Hint)
}

// conditionCode returns the code that health has for the code of a problem: underscores instead of dots.
func conditionCode(problem string) string { return strings.ReplaceAll(problem, ".", "_") }

func worst(conditions []pannier.Condition) pannier.HealthStatus {
	status := pannier.HealthOK
	for _, c := range conditions {
		switch c.Severity {
		case pannier.SeverityError:
			return pannier.HealthFailing
		case pannier.SeverityWarning:
			status = pannier.HealthDegraded
		}
	}
	return status
}
