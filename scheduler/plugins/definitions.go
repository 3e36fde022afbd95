package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// warnOfOldDefinitions says once in the log what this version needs of the cluster's custom resource definitions and does
// not find: Helm leaves them as they are when a release is upgraded, or installed where they are already. What they lack
// cannot be asked for then, and all else works.
func warnOfOldDefinitions(ctx context.Context, to *rest.Config) {
	logger := klog.FromContext(ctx)
	client, err := discovery.NewDiscoveryClientForConfig(to)
	if err != nil {
		logger.V(2).Info("It is not known how old the custom resource definitions are", "err", err)
		return
	}
	lacking, err := lackingDefinitions(client.OpenAPIV3())
	switch {
	case err != nil:
		logger.V(2).Info("It is not known how old the custom resource definitions are", "err", err)
	case len(lacking) > 0:
		logger.Error(nil, "The custom resource definitions are older than this scheduler, and plans or policies with what "+
			"they lack are refused; helm show crds CHART | kubectl apply --server-side --force-conflicts -f -",
			"lacking", strings.Join(lacking, ", "))
	}
}

// lackingDefinitions are the newest parts of the definitions that are not served.
func lackingDefinitions(served openapi.Client) ([]string, error) {
	document, err := openapi3.NewRoot(served).GVSpec(packingplan.Resource.GroupVersion())
	if absent := new(openapi3.GroupVersionNotFoundError); errors.As(err, &absent) {
		return []string{packingplan.Kind, packingpolicy.Kind}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the API's schema: %w", err)
	}
	hasObjective, hasMaximize, hasTurns, hasPolicies := false, false, false, false
	if document.Components != nil {
		for name, of := range document.Components.Schemas {
			switch name[strings.LastIndex(name, ".")+1:] { // as in dev.stowage.v1alpha1.PackingPlan
			case packingplan.Kind:
				_, hasObjective = of.Properties["spec"].Properties["objective"]
				_, hasMaximize = of.Properties["spec"].Properties["maximize"]
				if moves := of.Properties["status"].Properties["moves"]; moves.Items != nil && moves.Items.Schema != nil {
					_, hasTurns = moves.Items.Schema.Properties["turn"]
				}
			case packingpolicy.Kind:
				hasPolicies = true
			}
		}
	}
	var lacking []string
	if !hasObjective {
		lacking = append(lacking, packingplan.Kind+".spec.objective")
	}
	if !hasMaximize {
		lacking = append(lacking, packingplan.Kind+".spec.maximize")
	}
	if !hasTurns {
		lacking = append(lacking, packingplan.Kind+".status.moves.turn")
	}
	if !hasPolicies {
		lacking = append(lacking, packingpolicy.Kind)
	}
	return lacking, nil
}
