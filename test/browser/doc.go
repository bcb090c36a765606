// Package browser holds the tests of the dashboard's pages in a real Chromium. They are skipped where
// there is none; make browser fails then, and says how to install one.
package browser
