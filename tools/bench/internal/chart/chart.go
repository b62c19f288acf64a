// Package chart draws bars as SVG: groups of horizontal bars on one linear
// scale, with the value at the end of each.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is a chart of horizontal bars.
type Chart struct {
	Title string
	// Series are the names of the bars of each group.
	Series []string
	// Format writes the values; as whole numbers if nil.
	Format func(float64) string
	groups []group
}

type group struct {
	name   string
	values []float64
}

// Add adds a group with a value for each of the series; NaN leaves one out.
func (c *Chart) Add(name string, values ...float64) {
	c.groups = append(c.groups, group{name, values})
}

// The drawing's measures, in pixels.
const (
	width    = 760
	margin   = 16
	header   = 72 // title and legend
	label    = 150
	room     = 96 // for the values behind the bars
	bar      = 18
	gap      = 4  // between bars
	groupGap = 16 // between groups
)

var colours = []string{"#9aa5b1", "#5b8def", "#f08a24", "#2fa37c"}

const style = `text{font:13px system-ui,sans-serif;fill:#1f2933}.t{font-weight:600;font-size:15px}.v{font-size:12px;fill:#52606d}` +
	`.a{stroke:#cbd2d9}rect.b{fill:#fff}` +
	`@media(prefers-color-scheme:dark){text{fill:#e4e7eb}.v{fill:#9aa5b1}.a{stroke:#3e4c59}rect.b{fill:#0d1117}}`

// SVG draws the chart.
func (c *Chart) SVG() string {
	var b strings.Builder
	height := c.height()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(c.Title))
	fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"b\" width=\"%d\" height=\"%d\"/>\n", style, width, height)
	fmt.Fprintf(&b, "<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+14, html.EscapeString(c.Title))
	c.legend(&b)
	y := header
	for _, g := range c.groups {
		c.group(&b, g, y)
		y += groupHeight(g) + groupGap
	}
	fmt.Fprintf(&b, "<line class=\"a\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n</svg>\n", label, header-6, label, height-margin)
	return b.String()
}

func (c *Chart) legend(b *strings.Builder) {
	x := margin
	for i, name := range c.Series {
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
			x, margin+26, colours[i%len(colours)], x+18, margin+37, html.EscapeString(name))
		x += 42 + 7*len(name)
	}
}

func (c *Chart) group(b *strings.Builder, g group, y int) {
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", label-10, y+groupHeight(g)/2+5, html.EscapeString(g.name))
	for i, value := range g.values {
		if math.IsNaN(value) {
			continue
		}
		long := value / c.most() * (width - label - room)
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/><text class=\"v\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			label, y, max(1, long), bar, colours[i%len(colours)], label+max(1, long)+6, y+bar-5, html.EscapeString(c.format(value)))
		y += bar + gap
	}
}

// most is the largest value.
func (c *Chart) most() float64 {
	most := math.SmallestNonzeroFloat64
	for _, g := range c.groups {
		for _, v := range g.values {
			if v > most { // false of NaN
				most = v
			}
		}
	}
	return most
}

func (c *Chart) format(value float64) string {
	if c.Format != nil {
		return c.Format(value)
	}
	return fmt.Sprintf("%.0f", value)
}

func (c *Chart) height() int {
	h := header
	for _, g := range c.groups {
		h += groupHeight(g) + groupGap
	}
	return h
}

func groupHeight(g group) int {
	drawn := 0
	for _, v := range g.values {
		if !math.IsNaN(v) {
			drawn++
		}
	}
	return drawn*(bar+gap) - gap
}
