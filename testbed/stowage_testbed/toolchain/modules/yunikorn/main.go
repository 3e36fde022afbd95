// Command yunikorn-scheduler is Apache YuniKorn's scheduler for Kubernetes without its web service.
//
// YuniKorn's own command serves its REST interface on port 9080 of every interface, without a
// setting to change either. All else is started as that command starts it, from the same packages.
// In the place of the web service /readyz is served on the loopback interface; it answers once
// YuniKorn has taken in the cluster's nodes and pods.
package main

import (
	"errors"
	"flag"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/yunikorn-core/pkg/entrypoint"
	corelog "github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/client"
	"github.com/apache/yunikorn-k8shim/pkg/conf"
	"github.com/apache/yunikorn-k8shim/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/plugin/predicates"
	"github.com/apache/yunikorn-k8shim/pkg/shim"
	"go.uber.org/zap"
)

var errNoServices = errors.New("YuniKorn's core did not start")

func main() {
	port := flag.Int("port", 0, "port of /readyz on 127.0.0.1")
	flag.Parse()

	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGINT, syscall.SIGTERM)
	var ready atomic.Bool
	if err := serveReadiness(*port, &ready); err != nil {
		fail("unable to serve /readyz", err)
	}
	scheduler, err := start()
	if err != nil {
		fail("unable to start the scheduler", err)
	}
	ready.Store(true)
	<-ending
	scheduler.Stop()
}

// start returns once the scheduler has taken in what the cluster holds, and schedules.
func start() (*shim.KubernetesShim, error) {
	predicates.EnableOptionalKubernetesFeatureGates()
	maps, err := client.LoadBootstrapConfigMaps()
	if err != nil {
		return nil, err
	}
	if err := conf.UpdateConfigMaps(maps, true); err != nil {
		return nil, err
	}
	corelog.InitializeLogger(log.RootLogger(), log.GetZapConfigs())
	const manually, withWebService = false, false
	services := entrypoint.StartAllServicesWithParams(manually, withWebService)
	if services.RMProxy == nil {
		return nil, errNoServices
	}
	scheduler := shim.NewShimScheduler(services.RMProxy, conf.GetSchedulerConf(), maps)
	return scheduler, scheduler.Run()
}

func serveReadiness(port int, ready *atomic.Bool) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(answer http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(answer, "still taking in nodes and pods", http.StatusServiceUnavailable)
			return
		}
		_, _ = answer.Write([]byte("ok"))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { fail("/readyz is not served any more", server.Serve(listener)) }()
	return nil
}

func fail(what string, err error) {
	log.Log(log.Shim).Error(what, zap.Error(err))
	os.Exit(1)
}
