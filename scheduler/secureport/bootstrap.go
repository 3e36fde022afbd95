package secureport

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// bootstrapTimeout bounds the first connection: it carries one request within the process.
const bootstrapTimeout = 10 * time.Second

// ErrNotReached says that the stock scheduler answers without asking its authenticator.
var ErrNotReached = errors.New("the first request did not reach the authenticator, so that no handler can be added to " +
	"the secure port; this version of kube-scheduler serves in another way")

// bootstrapListener is the listener of the port. Its first connection is made within the process. Only one goroutine
// calls Accept, that of the http.Server.
type bootstrapListener struct {
	net.Listener
	// reached is set by the request that comes over the first connection.
	reached atomic.Bool
	// done returns the result of the first connection; nil before it, and after it has succeeded.
	done  chan error
	begun bool
}

// Accept returns the connection within the process first, and then those of the port.
func (l *bootstrapListener) Accept() (net.Conn, error) {
	if !l.begun {
		l.begun = true
		ours, theirs := net.Pipe()
		l.done = make(chan error, 1)
		go func() { l.done <- l.bootstrap(ours) }()
		return theirs, nil
	}
	if l.done != nil {
		if err := <-l.done; err != nil {
			return nil, err
		}
		l.done = nil
	}
	return l.Listener.Accept()
}

// bootstrap sends the first request and waits for the answer, whatever it is.
func (l *bootstrapListener) bootstrap(over net.Conn) error {
	defer func() { _ = over.Close() }()
	if err := over.SetDeadline(time.Now().Add(bootstrapTimeout)); err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	request, err := http.NewRequest(http.MethodGet, "https://scheduler/livez", nil)
	if err != nil {
		return err
	}
	request.Close = true
	// No verification is needed: the connection does not leave the process.
	connection := tls.Client(over, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := request.Write(connection); err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	_ = response.Body.Close()
	if !l.reached.Load() {
		return ErrNotReached
	}
	return nil
}
