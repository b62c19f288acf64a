package main

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// number writes a number as people read it: three digits, thousands apart.
func number(x float64) string {
	switch magnitude := math.Abs(x); {
	case magnitude >= 100:
		return thousands(int64(math.Round(x)))
	case magnitude >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// times writes a ratio.
func times(x float64) string { return number(x) + " x" }

// millis is a duration in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// perSecond is a rate.
func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// quantile is the value below which that part of the values lies.
func quantile(values []time.Duration, part float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(math.Ceil(part*float64(len(sorted))))-1)]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
