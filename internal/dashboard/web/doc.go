// Package web holds the pages of the dashboard, as a browser gets them.
//
// Their sources are ES modules and style sheets in src, and the charts that they share with the
// simulator's report, in internal/chart. The command tools/bundle makes pages/assets/app.js and
// app.css of them; make generate calls it, and make verify detects outdated ones. The pages use no
// library, and only a browser runs them.
//
// One module is one page or one part of all pages: app.js opens the page of the address, route.js
// writes and reads addresses, store.js holds the last fetched fleet, events.js receives an event
// for each cycle. A page is a function of the element to fill and its route. It returns:
//
//	title, crumbs   its title, and the path to it
//	update(fleet)   called with each new fleet
//	takes(route)    true where it handled a changed address
//	keys(event)     true where it handled a key
//	leave()         called before another page opens
//
// All text that was read (names, reasons, messages) enters a page only as text nodes. The pages
// work under a policy that allows no inline script or style and no other host. Tests in
// test/browser drive them in a real Chromium.
package web
