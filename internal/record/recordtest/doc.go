// Package recordtest draws values of the types that a record holds, whatever
// their fields are.
package recordtest
