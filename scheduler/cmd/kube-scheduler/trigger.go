package main

import (
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"

	"github.com/stowage/stowage/scheduler/httptrigger"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/secureport"
)

// Users' requests must not use up the scheduler's own rate limit.
const (
	triggerQPS   = 5
	triggerBurst = 10
)

// The flag that asks for the trigger.
const (
	triggerFlag  = "http-trigger"
	triggerUsage = "Let users ask for a plan by POST " + httptrigger.Path + " on the secure port. The API server is asked " +
		"who they are and whether they may create PackingPlans."
)

var errNoSolver = errors.New("no profile has the plugin " + priorityoptimizer.Name + ", so no plans would be made")

// serveTrigger puts the HTTP trigger on the secure port. Every replica serves it, whether it leads or not.
func serveTrigger(completed *config.CompletedConfig, installation *plugins.Installation) error {
	if !installation.MakesPlans() {
		return fmt.Errorf("--%s: %w", triggerFlag, errNoSolver)
	}
	limited := rest.CopyConfig(completed.KubeConfig)
	limited.QPS, limited.Burst = triggerQPS, triggerBurst
	client, err := dynamic.NewForConfig(limited)
	if err != nil {
		return fmt.Errorf("--%s: making a client for PackingPlans: %w", triggerFlag, err)
	}
	handler := httptrigger.New(
		completed.Authentication.Authenticator, completed.Authorization.Authorizer, packingplan.NewStore(client))
	if err := secureport.Add(completed, httptrigger.Path, handler); err != nil {
		return fmt.Errorf("--%s: %w", triggerFlag, err)
	}
	return nil
}
