// Package console writes for people who read a terminal or its log: aligned tables, a live block
// that refreshes in place, bars and sparklines. Its package plot draws lines over an x axis.
//
// It decides nothing and knows nothing of scaling. [Detect] finds out once what a writer can show;
// callers pass it as a [Terminal]:
//
//   - on a terminal a [Live] block is redrawn in place and lines end with …
//     where they are wider than the window;
//   - elsewhere (a file, a pipe, CI) it is appended as plain lines when its rows have changed;
//   - colour is used only on a terminal, with NO_COLOR unset (no-color.org) and
//     TERM not "dumb".
//
// Widths are counted in terminal cells: wide characters take two, combining
// marks and escape sequences none.
package console
