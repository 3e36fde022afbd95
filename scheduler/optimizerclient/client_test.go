package optimizerclient_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stowage/stowage/scheduler/contract"
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
			folder, err := os.MkdirTemp("", "so") //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			socket := filepath.Join(folder, "s")
			if row.listen {
				listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
				if err != nil {
					t.Fatal(err)
				}
				server := grpc.NewServer()
				contract.RegisterOptimizerServer(server, contract.UnimplementedOptimizerServer{})
				if row.health != nil {
					states := health.NewServer()
					states.SetServingStatus(contract.Optimizer_ServiceDesc.ServiceName, *row.health)
					healthpb.RegisterHealthServer(server, states)
				}
				go func() { _ = server.Serve(listener) }()
				t.Cleanup(server.Stop)
			}
			client, err := optimizerclient.New(socket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()

			err = client.Ready(ctx)

			var unreachable *optimizerclient.UnreachableError
			if ready := err == nil; ready != row.want || !ready && !errors.As(err, &unreachable) {
				t.Errorf("ready: %v, want %t", err, row.want)
			}
		})
	}
}
