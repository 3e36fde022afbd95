package oddobjects_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/optimizerclient"
)

// startTimeout is for the optimiser to compile, where it never ran before.
const startTimeout = 5 * time.Minute

// startOptimizer starts the real one. It ends with its standard input.
func startOptimizer(t *testing.T) *optimizerclient.Client {
	t.Helper()
	program, err := exec.LookPath("stowage-optimizer")
	if err != nil {
		t.Skip("stowage-optimizer is not on the PATH: make test-go puts it there")
	}
	folder, err := os.MkdirTemp("", "odd") //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	testobjects.Must(t, err)
	socket := filepath.Join(folder, "s")
	command := exec.Command(program, "serve", "--socket", socket, "--end-with-stdin", "--workers", "1")
	log, err := os.Create(filepath.Join(folder, "log"))
	testobjects.Must(t, err)
	command.Stderr = log
	input, err := command.StdinPipe()
	testobjects.Must(t, err)
	testobjects.Must(t, command.Start())
	t.Cleanup(func() {
		_ = input.(io.Closer).Close()
		_ = command.Wait() // how it ends says nothing about the objects
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the optimiser's last words: %s", said[max(0, len(said)-8000):])
		}
		_ = os.RemoveAll(folder)
	})
	awaitServing(t, socket)
	client, err := optimizerclient.New(socket)
	testobjects.Must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// awaitServing returns when the optimiser says that it is warm.
func awaitServing(t *testing.T, socket string) {
	t.Helper()
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	testobjects.Must(t, err)
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	watch, err := healthpb.NewHealthClient(connection).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	testobjects.Must(t, err)
	for {
		said, err := watch.Recv()
		if err != nil {
			t.Fatalf("the optimiser does not serve: %v", err)
		}
		if said.Status == healthpb.HealthCheckResponse_SERVING {
			return
		}
	}
}
