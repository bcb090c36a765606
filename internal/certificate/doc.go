// Package certificate holds the certificates of the ports that the manager serves, which
// follow their files: a rotated certificate is in force with the next connection, without
// a restart.
//
// Served is the certificate that a port shows; Authorities are those whose clients a port admits.
package certificate
