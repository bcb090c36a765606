// Package wire is the protocol of KEDA's external scalers: the messages and the stubs of
// the gRPC service externalscaler.ExternalScaler, generated from externalscaler.proto by
// make generate. It holds no code of its own.
package wire
