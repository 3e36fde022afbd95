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

// introductionTakes at most this long: it is one request within the process.
const introductionTakes = 10 * time.Second

// ErrNotMet says that the stock scheduler answers without asking its authenticator.
var ErrNotMet = errors.New("the first request did not reach the authenticator, so that no handler can be added to " +
	"the secure port; this version of kube-scheduler serves in another way")

// introducing is the listener of the port, whose first connection is one within the process. Only one
// goroutine calls Accept, as that of an http.Server does.
type introducing struct {
	net.Listener
	// met is set by the request that comes over the first connection.
	met atomic.Bool
	// done tells how the introduction went; nil before it, and after it went well.
	done  chan error
	begun bool
}

// Accept returns the connection of the introduction first, and then those of the port.
func (l *introducing) Accept() (net.Conn, error) {
	if !l.begun {
		l.begun = true
		ours, theirs := net.Pipe()
		l.done = make(chan error, 1)
		go func() { l.done <- l.introduce(ours) }()
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

// introduce sends the first request and waits until it is answered, whatever the answer is.
func (l *introducing) introduce(over net.Conn) error {
	defer func() { _ = over.Close() }()
	if err := over.SetDeadline(time.Now().Add(introductionTakes)); err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	request, err := http.NewRequest(http.MethodGet, "https://scheduler/livez", nil)
	if err != nil {
		return err
	}
	request.Close = true
	// Nobody can stand between: the connection does not leave the process.
	connection := tls.Client(over, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := request.Write(connection); err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return fmt.Errorf("meeting the server of the secure port: %w", err)
	}
	_ = response.Body.Close()
	if !l.met.Load() {
		return ErrNotMet
	}
	return nil
}
