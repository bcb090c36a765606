// Package web holds the pages of the dashboard, as a browser gets them.
//
// Their sources are ES modules and style sheets in src, and the charts that they share with the
// simulator's report, in internal/chart. The command tools/bundle makes pages/assets/app.js and
// app.css of them; make generate calls it, and make verify finds what is out of date. There is
// no library behind the pages, and nothing but a browser runs them.
//
// One module is one page or one part of all pages: app.js opens the page of the address, route.js
// writes and reads addresses, store.js holds the fleet as it was last fetched, events.js hears of each
// cycle. A page is a function of the element to fill and its route; it returns what belongs to it:
//
//	title, crumbs   what it is called, and the way to it
//	update(fleet)   called with each new fleet
//	takes(route)    true where it took over a changed address
//	keys(event)     true where it took a key
//	leave()         called before another page opens
//
// What was read anywhere (names, reasons, messages) reaches a page as text nodes alone, and the pages
// work under a policy that allows no inline script or style and no other host. Tests in test/browser
// drive them in a real Chromium.
package web
