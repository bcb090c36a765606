// Package manager is the short way in: from a document of pkg/config to the
// allocation of every server.
//
// It does nothing that pkg/core and pkg/solver do not; it puts them together as
// the document says. There is no manager object and no state: Optimize is a
// function, and may be called from many goroutines at once.
package manager
