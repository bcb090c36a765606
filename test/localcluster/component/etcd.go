package component

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// etcdQuota limits the size of the database in bytes. The API server compacts every five
	// minutes; the writes of a thousand pods in that time take less.
	etcdQuota = 1 << 30
	// etcdReadyWithin is far more than the half second that an empty store needs.
	etcdReadyWithin = time.Minute
)

// runEtcd runs a single-member etcd without TLS and without waiting for the disk:
// a power cut may lose the cluster, which a test does not mind.
func runEtcd(args []string) int {
	flags := flag.NewFlagSet(Etcd, flag.ContinueOnError)
	dir := flags.String("data-dir", "", "folder of the database")
	client := flags.String("client-url", "", "URL to serve clients on, http://127.0.0.1:PORT")
	peer := flags.String("peer-url", "", "URL for peers, which a single member only needs to have")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serveEtcd(ctx, *dir, *client, *peer); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	return 0
}

func serveEtcd(ctx context.Context, dir, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("reading --client-url: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("reading --peer-url: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = etcdQuota
	cfg.LogLevel = "error" // below it, one line for each request that a busy machine delays

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return fmt.Errorf("joining: %w", err)
	case <-time.After(etcdReadyWithin):
		return fmt.Errorf("not ready within %s", etcdReadyWithin)
	case <-ctx.Done():
		return nil
	}
	select {
	case err := <-server.Err():
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
		return nil
	}
}
