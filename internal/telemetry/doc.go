// Package telemetry makes the service's logger, and its metrics. What each
// metric means, and which deserve an alert, is in docs/metrics.md.
package telemetry
