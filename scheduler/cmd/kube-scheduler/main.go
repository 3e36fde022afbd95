// Command kube-scheduler is the stock Kubernetes scheduler with Stowage's plugins compiled in.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plugins"
)

func main() {
	os.Exit(cli.Run(newCommand()))
}

// newCommand has the flags of the stock scheduler. The stock scheduler's own command cannot be used: the plugins must be
// attached to the scheduler after it is built and before it starts.
func newCommand() *cobra.Command {
	given := options.NewOptions()
	command := &cobra.Command{
		Use:   "kube-scheduler",
		Short: "The Kubernetes scheduler with Stowage's plugins",
		Args:  cobra.NoArgs,
		// Feature gates must be set before they are read.
		PersistentPreRunE: func(*cobra.Command, []string) error { return given.ComponentGlobalsRegistry.Set() },
		RunE:              func(command *cobra.Command, _ []string) error { return run(command, given) },
	}
	global := given.Flags.FlagSet("global")
	verflag.AddFlags(global)
	globalflag.AddGlobalFlags(global, command.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range given.Flags.FlagSets {
		command.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(command.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(command, *given.Flags, columns)
	return command
}

// run starts the scheduler and returns when it ends.
func run(command *cobra.Command, given *options.Options) error {
	verflag.PrintAndExitIfRequested()
	gates := given.ComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(given.Logs, gates); err != nil {
		return err
	}
	cliflag.PrintFlags(command.Flags())
	ctx, cancel := context.WithCancel(server.SetupSignalContext())
	defer cancel()

	installation := plugins.NewInstallation()
	var registering []app.Option
	for name, factory := range installation.Registry() {
		registering = append(registering, app.WithPlugin(name, factory))
	}
	completed, scheduler, err := app.Setup(ctx, given, registering...)
	if err != nil {
		return err
	}
	if mutable, ok := gates.(featuregate.MutableFeatureGate); ok {
		mutable.AddMetrics()
	}
	given.ComponentGlobalsRegistry.AddMetrics()
	if err := installation.Attach(ctx, scheduler, completed.ComponentConfig.Profiles, leaseOf(completed)); err != nil {
		return fmt.Errorf("%w; the plugins cannot work without it", err)
	}
	return app.Run(ctx, completed, scheduler)
}

// leaseOf is the lease of the leader election; nil without an election.
func leaseOf(completed *config.CompletedConfig) *leadership.Lease {
	if completed.LeaderElection == nil {
		return nil
	}
	election := completed.ComponentConfig.LeaderElection
	return &leadership.Lease{Client: completed.Client.CoordinationV1(), Namespace: election.ResourceNamespace,
		Reviews: completed.Client.AuthenticationV1(),
		Name:    election.ResourceName, Identity: completed.LeaderElection.Lock.Identity()}
}
