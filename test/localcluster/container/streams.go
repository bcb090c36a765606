package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/forward"
)

// newStreams serves the connections of kubectl exec and port-forward on a free port. A URL is valid
// for one connection, and only the kubelet gets it.
func newStreams(r *Runtime) (streaming.Server, *http.Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, nil, err
	}
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Scheme: "http", Host: listener.Addr().String()}
	handler, err := streaming.NewServer(config, (*streams)(r))
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	return handler, server, nil
}

// streams connects clients with programs and ports of containers.
type streams Runtime

// Exec runs a program of the container's image with the container's variables.
func (s *streams) Exec(ctx context.Context, id string, args []string, in io.Reader, out, errout io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	if tty {
		return errors.New("a process here cannot have a terminal: leave -t out")
	}
	err := (*Runtime)(s).exec(ctx, id, args, func(cmd *exec.Cmd) {
		cmd.Stdin = in
		if out != nil { // a nil interface, not one that holds nil
			cmd.Stdout = out
		}
		if errout != nil {
			cmd.Stderr = errout
		}
	})
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return utilexec.ExitErrorWrapper{ExitError: exit}
	}
	return err
}

// Attach returns an error: a process's output goes to its log.
func (s *streams) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("a process here cannot be attached to: use kubectl logs -f")
}

// PortForward joins a stream with a port of a pod.
func (s *streams) PortForward(ctx context.Context, pod string, port int32, stream io.ReadWriteCloser) error {
	r := (*Runtime)(s)
	r.mu.Lock()
	b, err := r.findSandbox(pod)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	host := loopback
	if b.address.IsValid() {
		host = b.address.String()
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("connecting to the pod: %w", err)
	}
	forward.Join(ctx, stream, server)
	return nil
}

// exec runs a program of the container's image to its end, with the streams that connect sets. The
// error is an *exec.ExitError if the program fails.
func (r *Runtime) exec(ctx context.Context, id string, args []string, connect func(*exec.Cmd)) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	called := c.command
	called.path, called.args = beside(called.path, args[0]), slices.Clone(args[1:])
	for i, arg := range called.args {
		called.args[i] = called.rewrite(arg)
	}
	cmd, err := r.starter.run(ctx, called, connect)
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// ExecSync runs a program of the container's image and returns its output.
func (r *Runtime) ExecSync(ctx context.Context, id string, args []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var out, problem bytes.Buffer
	err = r.exec(ctx, id, args, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = &out, &problem })
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = utilexec.ExitErrorWrapper{ExitError: exit}
	}
	return out.Bytes(), problem.Bytes(), err
}

// Exec returns the URL for Exec of streams.
func (r *Runtime) Exec(_ context.Context, request *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	return r.streams.GetExec(request)
}

// Attach returns the URL for Attach of streams.
func (r *Runtime) Attach(_ context.Context, request *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	return r.streams.GetAttach(request)
}

// PortForward returns the URL for PortForward of streams.
func (r *Runtime) PortForward(_ context.Context, request *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	return r.streams.GetPortForward(request)
}
