// Package browser holds the tests of the dashboard's pages in a real Chromium. Without a Chromium
// the tests are skipped; make browser fails then, and says how to install one.
package browser
