package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/stowage/stowage/scheduler/httptrigger"
	"github.com/stowage/stowage/scheduler/profiletest"
	"github.com/stowage/stowage/scheduler/secureport"
)

const profiles = "../../../charts/stowage/profiles/"

// givenFor are the options of a scheduler with a shipped profile, whose API server cannot be reached.
func givenFor(t *testing.T, profile string) *options.Options {
	t.Helper()
	return profiletest.Options(t, profiletest.Shipped(t, profiles, profile))
}

// ask returns the code and the content of the answer.
func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// The real scheduler serves the trigger beside its own handlers, all of which stay as they are.
func TestTriggerIsServedBesideTheSchedulersOwnHandlers(t *testing.T) {
	given := givenFor(t, "optimizer")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	given.SecureServing.Listener = listener
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, given, true) }()

	for _, one := range []struct {
		method, path string
		code         int
		says         string
	}{
		{http.MethodGet, "/livez", 200, "ok"},
		{http.MethodGet, "/healthz", 200, "ok"},
		{http.MethodGet, "/readyz", 500, "sched-handler-sync"},
		{http.MethodGet, "/metrics", 403, `User \"system:anonymous\" cannot get path \"/metrics\"`},
		{http.MethodPost, "/packingplan", 403, `User \"system:anonymous\" cannot post path \"/packingplan\"`},
		{http.MethodPost, httptrigger.Path, 401, "a bearer token is needed"},
	} {
		code, content := ask(t, one.method, "https://"+listener.Addr().String()+one.path)
		if code != one.code || !strings.Contains(content, one.says) {
			t.Errorf("%s %s: %d %s; want %d and %s", one.method, one.path, code, content, one.code, one.says)
		}
	}

	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("ended with %v", err)
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

// A trigger without a port, or without a plugin that makes plans, is refused at the start.
func TestTriggerThatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	if err := run(t.Context(), givenFor(t, "default"), true); !errors.Is(err, errNoSolver) {
		t.Errorf("without the plugin: %v", err)
	}
	if err := run(t.Context(), givenFor(t, "optimizer"), true); !errors.Is(err, secureport.ErrClosed) {
		t.Errorf("without a port: %v", err)
	}
}
