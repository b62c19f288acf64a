//go:build race

package e2e_test

// The binary is built as the tests are.
func init() { buildFlags = append(buildFlags, "-race") }
