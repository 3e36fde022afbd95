package optimizerclient_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/optimizerclient"
)

// A solve that begins while the optimiser warms up ends as a failed plan, so none is asked for before it is healthy.
func TestReadyOnlyOnceTheOptimiserIsHealthy(t *testing.T) {
	serving, warming := healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING
	for text, row := range map[string]struct {
		health *healthpb.HealthCheckResponse_ServingStatus
		listen bool
		want   bool
	}{
		"healthy":                       {&serving, true, true},
		"warming up":                    {&warming, true, false},
		"without a health service":      {nil, true, true},
		"not there, or not started yet": {nil, false, false},
	} {
		t.Run(text, func(t *testing.T) {
			socket := socketPath(t)
			if row.listen {
				listen(t, socket, func(server *grpc.Server, listener net.Listener) {
					if row.health != nil {
						states := health.NewServer()
						states.SetServingStatus(contract.Optimizer_ServiceDesc.ServiceName, *row.health)
						healthpb.RegisterHealthServer(server, states)
					}
					_ = server.Serve(listener)
				})
			}
			client := newClient(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()

			err := client.Ready(ctx)

			var unreachable *optimizerclient.UnreachableError
			if ready := err == nil; ready != row.want || !ready && !errors.As(err, &unreachable) {
				t.Errorf("ready: %v, want %t", err, row.want)
			}
		})
	}
}

// A busy machine may take seconds until a process that listens has answered: that is no refused connection.
func TestAnOptimiserThatAnswersLateIsReady(t *testing.T) {
	for _, late := range []time.Duration{200 * time.Millisecond, 2 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			socket := socketPath(t)
			listen(t, socket, func(server *grpc.Server, listener net.Listener) {
				_ = server.Serve(lateListener{listener, late})
			})
			client := newClient(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()

			if err := client.Ready(ctx); err != nil {
				t.Errorf("it listens, and yet: %v", err)
			}
		})
	}
}

// lateListener hands its connections over some time after they were made.
type lateListener struct {
	net.Listener
	late time.Duration
}

// Accept waits for the next connection.
func (l lateListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	<-time.After(l.late)
	return conn, nil
}

// Why a connection failed is for the user to know: no socket is another fault than one that nobody listens on. It is
// told at once, to the first who asks and to the next.
func TestWhyThereIsNoConnectionIsTold(t *testing.T) {
	socket := socketPath(t)
	client := newClient(t, socket)
	for range 2 {
		err := client.Ready(t.Context())

		if err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("%v, want the system's own words", err)
		}
	}
}

// An optimiser that comes after it was missed is found by the next who asks, whatever gRPC remembers of the first try.
func TestAnOptimiserThatComesIsFoundByTheNextWhoAsks(t *testing.T) {
	socket := socketPath(t)
	client := newClient(t, socket)
	if _, err := client.Solve(t.Context(), &contract.SolveRequest{}, nil); err == nil {
		t.Fatal("a solve without an optimiser did not fail")
	}
	listen(t, socket, func(server *grpc.Server, listener net.Listener) { _ = server.Serve(listener) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	if err := client.Ready(ctx); err != nil {
		t.Errorf("it listens now, and yet: %v", err)
	}
}

// listen starts an optimiser without answers on the socket, which serves until the test ends.
func listen(t *testing.T, socket string, serve func(*grpc.Server, net.Listener)) {
	t.Helper()
	listener := testobjects.Value((&net.ListenConfig{}).Listen(t.Context(), "unix", socket))(t)
	server := grpc.NewServer()
	contract.RegisterOptimizerServer(server, contract.UnimplementedOptimizerServer{})
	go serve(server, listener)
	t.Cleanup(server.Stop)
}

func newClient(t *testing.T, socket string) *optimizerclient.Client {
	t.Helper()
	client := testobjects.Value(optimizerclient.New(socket))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func socketPath(t *testing.T) string {
	t.Helper()
	folder := testobjects.Value(os.MkdirTemp("", "so"))(t) //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "s")
}
