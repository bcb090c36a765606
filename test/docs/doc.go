// Package docs reads the pages of the repository, every file that ends in .md, and holds them to
// what they say: links and anchors exist, fenced blocks parse, and the commands of sh blocks are
// run, or carry the reason why not.
//
// A fence names the kind of its block:
//
//	sh        commands to copy. They are run in a local cluster, by test/e2e,
//	          unless the first line is "# not run: reason"
//	console   commands after a $, with their output, to read
//	yaml      objects or configuration; objects of a known kind decode strictly
//	promql    expressions, separated by empty lines
//	json, go  parse; Go is formatted
//	mermaid   a diagram
//	none      output, a drawing
//
// The blocks of one page are one script, in their order: see [Page.Script].
package docs
