// Package plot draws lines over a common x axis, for people who want to see where a
// curve bends: as text for a terminal, in braille characters, and as a picture, in
// SVG that needs nothing else.
//
// A [Plot] is a stack of panels, each with its own y axis. Dots are measured values. Limits are
// horizontal lines of one panel, marks are vertical lines through all panels. A y axis whose values
// span more than a factor of 20 is logarithmic, and says so; others are linear, and begin at 0
// unless all values lie in the upper half. Names are at the right end of their lines, so that
// neither form needs colours.
//
// It decides nothing and does not know what the numbers mean.
package plot
