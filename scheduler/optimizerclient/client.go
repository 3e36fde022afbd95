// Package optimizerclient asks the optimiser over its Unix socket.
//
// It never waits longer than its context allows, and takes the best plan that came before the
// optimiser stopped answering. Plans are not checked here; see package plan.
package optimizerclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stowage/stowage/scheduler/contract"
)

// maxReplyBytes bounds one update; a plan of the largest size allowed is far smaller.
const maxReplyBytes = 16 << 20

// attemptTimeout is what one attempt to connect may take. On a busy machine a process that listens may take seconds to
// answer; if there is none, the attempt fails at once. Without it, an attempt has no more than the delay before the next.
const attemptTimeout = 20 * time.Second

// Client is a connection to one optimiser. It connects when it is first asked.
type Client struct {
	socket string
	conn   *grpc.ClientConn
	api    contract.OptimizerClient
	health healthpb.HealthClient
}

// New makes a client for the socket. It does not connect yet.
func New(socket string) (*Client, error) {
	conn, err := grpc.NewClient("unix:"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReplyBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: attemptTimeout,
		}))
	if err != nil {
		return nil, &UnreachableError{socket, err}
	}
	return &Client{
		socket: socket, conn: conn, api: contract.NewOptimizerClient(conn), health: healthpb.NewHealthClient(conn),
	}, nil
}

func (c *Client) Close() error { return c.conn.Close() }

// Ready connects and asks for the optimiser's health. It returns an *UnreachableError if nobody listens, which it knows at
// once, if the optimiser still warms up, or if the context ends first: give one that leaves time to connect, and ends.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.listens(ctx); err != nil {
		return &UnreachableError{c.socket, err}
	}
	c.conn.ResetConnectBackoff()
	request := &healthpb.HealthCheckRequest{Service: contract.Optimizer_ServiceDesc.ServiceName}
	health, err := c.health.Check(ctx, request, grpc.WaitForReady(true))
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil // an optimiser of somebody else's, which answers as soon as it listens
	case err != nil:
		return &UnreachableError{c.socket, err}
	case health.Status != healthpb.HealthCheckResponse_SERVING:
		return &UnreachableError{c.socket, fmt.Errorf("its health is %s: it still warms up, or is about to stop", health.Status)}
	}
	return nil
}

// listens says why nobody can be reached on the socket. It asks the system: a gRPC connection keeps the failure of an
// earlier attempt until one succeeds, and passes through its states too fast for a busy process to see that it tried.
func (c *Client) listens(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Solve asks for a plan and returns the last answer, with the best plan that came before it if it has none. verify is
// called with each better plan as it comes; its error ends the call. The error is that one, an *UnreachableError, a
// *LateError, or says how the optimiser failed.
func (c *Client) Solve(
	ctx context.Context, request *contract.SolveRequest, verify func(*contract.Plan) error,
) (*contract.SolveUpdate, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.api.Solve(ctx, request)
	if err != nil {
		return nil, c.classify(ctx, err)
	}
	answer := &contract.SolveUpdate{}
	for {
		update, err := stream.Recv()
		if err != nil {
			return c.ended(ctx, answer, err)
		}
		better := update.Plan
		update.Plan = cmp.Or(better, answer.Plan)
		answer = update
		if answer.Last {
			return answer, nil
		}
		if better != nil {
			if err := verify(better); err != nil {
				return nil, err
			}
		}
	}
}

// ended decides what an answer without a last update is worth.
func (c *Client) ended(ctx context.Context, answer *contract.SolveUpdate, err error) (*contract.SolveUpdate, error) {
	if errors.Is(err, io.EOF) {
		return nil, errors.New("optimiser failed: the stream ended without a last update")
	}
	failure := c.classify(ctx, err)
	var late *LateError
	if errors.As(failure, &late) && answer.Plan != nil {
		answer.EndReason = contract.EndReason_END_REASON_TIME_LIMIT
		return answer, nil
	}
	return nil, failure
}

func (c *Client) classify(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return &LateError{ctx.Err()}
	case status.Code(err) == codes.DeadlineExceeded:
		return &LateError{err}
	case status.Code(err) == codes.Unavailable:
		return &UnreachableError{c.socket, err}
	}
	return fmt.Errorf("optimiser failed: %w", err)
}

// UnreachableError says that no process answers on the socket.
type UnreachableError struct {
	Socket string
	Cause  error
}

// Error names the socket and the way out.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("optimiser not reachable on %s: %v; is it running, and is the socket shared with the scheduler?",
		e.Socket, e.Cause)
}

func (e *UnreachableError) Unwrap() error { return e.Cause }

// LateError says that the time was up before any plan came.
type LateError struct{ Cause error }

func (e *LateError) Error() string {
	return fmt.Sprintf("optimiser gave no answer in time: %v", e.Cause)
}

func (e *LateError) Unwrap() error { return e.Cause }
