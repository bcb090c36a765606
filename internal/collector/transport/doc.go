// Package transport is HTTP over TLS whose certificates follow their files: a
// rotated certificate, of the authorities as of the client, is in force with the
// next connection, without a restart.
//
// The file of authorities is looked at before every request and read when it is
// another or was written since. When what it holds has changed, idle connections
// are closed and new ones trust the new authorities; while it cannot be used, the
// last good ones stay in force. The client's certificate is read for every
// handshake.
//
// What a transport does besides, proxies and pools of connections, is for its
// user.
package transport
