// Package plot draws lines over a common x axis, for people who want to see where a
// curve bends: as text for a terminal, in braille characters, and as a picture, in
// SVG that needs nothing else.
//
// A [Plot] is a stack of panels, each with its own y axis. Dots are what was measured. Limits are horizontal
// lines of one panel, marks are vertical lines through all. An axis of y whose values
// span more than a factor of 20 is logarithmic, and says so; others are linear, and
// begin at 0 unless all values lie in the upper half. Names stand at the right end of
// their lines, so that neither form needs colours to be read.
//
// It decides nothing and knows nothing of what the numbers mean.
package plot
