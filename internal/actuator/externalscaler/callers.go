package externalscaler

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// verifyEvery is how often the certificate of a client is verified again while a stream is open.
const verifyEvery = time.Minute

// clients describes the clients that are answered, for the log.
func (s *service) clients() string {
	if s.who == nil {
		return "everyone who reaches the port"
	}
	return "those whose certificate one of the authorities signed"
}

// admit answers the calls of verified clients only.
func (s *service) admit(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := s.verify(ctx); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

// admitStream answers the streams of verified clients that do not have too many streams.
func (s *service) admitStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := stream.Context()
	if err := s.verify(ctx); err != nil {
		return err
	}
	caller := s.caller(ctx)
	if err := s.streams.open(caller); err != nil {
		return err
	}
	defer s.streams.closed(caller)
	return next(srv, stream)
}

// verify refuses a client whose certificate no present authority signed, or whose certificate has
// expired since it connected.
func (s *service) verify(ctx context.Context) error {
	if s.who == nil {
		return nil
	}
	if err := s.who.Verify(tlsOf(ctx).State.PeerCertificates, s.clock.Now()); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
}

// caller returns the name under which the streams of a client are counted: the subject of its
// certificate where certificates are verified, else its address.
func (s *service) caller(ctx context.Context) string {
	if s.who != nil {
		return string(tlsOf(ctx).State.PeerCertificates[0].RawSubject) // verify has checked it
	}
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(from.Addr.String())
	if err != nil {
		return from.Addr.String()
	}
	return host
}

// tlsOf returns the TLS state of a connection, the zero value without TLS.
func tlsOf(ctx context.Context) credentials.TLSInfo {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return credentials.TLSInfo{}
	}
	info, _ := from.AuthInfo.(credentials.TLSInfo)
	return info
}
