// Command kube-scheduler is the stock Kubernetes scheduler with Stowage's plugins compiled in.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/stowage/stowage/scheduler/plugins"
)

func main() {
	options := make([]app.Option, 0, len(plugins.Registry()))
	for name, factory := range plugins.Registry() {
		options = append(options, app.WithPlugin(name, factory))
	}
	os.Exit(cli.Run(app.NewSchedulerCommand(options...)))
}
