// Package transport is HTTP over TLS whose certificates follow their files: a
// rotated certificate, of the authorities as of the client, is in force with the
// next connection, without a restart.
//
// The transport checks the file of authorities before every request, and reads it when the file was
// replaced or written since. When its content has changed, idle connections are closed and new ones
// trust the new authorities; while it is unusable, the last good ones stay in force. The client's
// certificate is read for every handshake.
//
// Callers configure everything else, proxies and pools of connections.
package transport
