// Package console writes for people who read a terminal or its log: aligned
// tables, a live block that refreshes in place, bars and sparklines. Lines over an
// x axis are drawn by its package plot.
//
// It decides nothing and knows nothing of scaling. What a writer can do is
// found out once, by [Detect], and passed in as a [Terminal]:
//
//   - on a terminal a [Live] block is redrawn in place and lines end with …
//     where they are wider than the window;
//   - elsewhere (a file, a pipe, CI) it is appended as plain lines, when its
//     rows have changed;
//   - colour is used only on a terminal, with NO_COLOR unset (no-color.org) and
//     TERM not "dumb".
//
// Widths are counted in terminal cells: wide characters take two, combining
// marks and escape sequences none.
package console
