package secureport_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"

	"github.com/stowage/stowage/scheduler/secureport"
)

const ownPath = "/own"

// scheduler has only a secure port, and handlers behind an authenticator.
type scheduler struct {
	t         *testing.T
	completed config.CompletedConfig
	address   string
}

func newScheduler(t *testing.T) *scheduler {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	given := options.NewSecureServingOptions()
	given.Listener, given.ServerCert.CertDirectory = listener, ""
	if err := given.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	var serving *server.SecureServingInfo
	if err := given.ApplyTo(&serving); err != nil {
		t.Fatal(err)
	}
	built := &config.Config{SecureServing: serving}
	built.Authentication.Authenticator = authenticator.RequestFunc(
		func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, nil })
	return &scheduler{t: t, completed: built.Complete(), address: "https://" + listener.Addr().String()}
}

// says answers every request with a text.
func says(text string) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(writer, text) })
}

// serve does what the stock scheduler's Run does, whose handler refuses unknown users.
func (s *scheduler) serve() {
	s.t.Helper()
	stock := filters.WithAuthentication(says("open"), s.completed.Authentication.Authenticator, says("stock"), nil, nil)
	stop := make(chan struct{})
	stopped, _, err := s.completed.SecureServing.Serve(stock, time.Second, stop)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { close(stop); <-stopped })
}

func (s *scheduler) get(path string, http2 bool) (protocol, text string, err error) {
	transport := &http.Transport{
		ForceAttemptHTTP2: http2, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: transport}).Get(s.address + path)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.Proto, string(content), err
}

// The handler answers its own path, to the letter, and no other.
func TestHandlerIsBesideThoseOfTheScheduler(t *testing.T) {
	s := newScheduler(t)
	if err := secureport.Add(&s.completed, ownPath, says("own")); err != nil {
		t.Fatal(err)
	}
	s.serve()
	for path, want := range map[string]string{
		ownPath: "own", ownPath + "?pretty": "own", "/": "stock", "/livez": "stock", ownPath + "/": "stock", "/" + ownPath: "stock",
	} {
		for http2, protocol := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
			used, got, err := s.get(path, http2)
			if err != nil || got != want || used != protocol {
				t.Errorf("%s over %s: %s over %s, %v; want %s", path, protocol, got, used, err, want)
			}
		}
	}
}

// asking counts how often the port was asked for a connection.
type asking struct {
	net.Listener
	times atomic.Int32
}

func (a *asking) Accept() (net.Conn, error) {
	a.times.Add(1)
	return a.Listener.Accept()
}

// The port is opened once the handler is in place: even the first request gets the right answer.
func TestNoConnectionIsAcceptedBeforeTheHandlerIsThere(t *testing.T) {
	s := newScheduler(t)
	port := &asking{Listener: s.completed.SecureServing.Listener}
	s.completed.SecureServing.Listener = port
	meanwhile := make(chan int32, 1)
	s.completed.Authentication.Authenticator = authenticator.RequestFunc(
		func(*http.Request) (*authenticator.Response, bool, error) {
			select {
			case meanwhile <- port.times.Load():
			default:
			}
			return nil, false, nil
		})
	if err := secureport.Add(&s.completed, ownPath, says("own")); err != nil {
		t.Fatal(err)
	}

	s.serve()
	_, got, err := s.get(ownPath, false)

	if err != nil || got != "own" {
		t.Errorf("%s, %v", got, err)
	}
	if times := <-meanwhile; times != 0 {
		t.Errorf("the port was asked for a connection %d times during the introduction", times)
	}
}

// A scheduler without a port, or one that serves in an unknown way, returns an error.
func TestPortThatCannotBeSharedIsAnError(t *testing.T) {
	none := (&config.Config{}).Complete()
	if err := secureport.Add(&none, ownPath, says("own")); !errors.Is(err, secureport.ErrClosed) {
		t.Errorf("no port: %v", err)
	}

	s := newScheduler(t)
	if err := secureport.Add(&s.completed, ownPath, says("own")); err != nil {
		t.Fatal(err)
	}
	certificate, key := s.completed.SecureServing.Cert.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	asksNobody := &http.Server{Handler: says("open"), ReadHeaderTimeout: time.Second}
	err = asksNobody.Serve(tls.NewListener(s.completed.SecureServing.Listener,
		&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	if !errors.Is(err, secureport.ErrNotReached) {
		t.Errorf("a server without an authenticator: %v", err)
	}
}
