// Package learning holds what is learned of an emulated engine beside what it does: its pages go
// into the store, the store is asked as by the manager, and the speed of its replicas is learned
// from the answers.
package learning
