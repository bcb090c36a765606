// Package manager is the short way in: from a document of pkg/config to the
// allocation of every server.
//
// It only combines pkg/core and pkg/solver as the document says. There is no manager object and no
// state: Optimize is a function, and may be called from many goroutines at once.
package manager
