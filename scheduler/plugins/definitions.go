package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
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
	paths, err := served.Paths()
	if err != nil {
		return nil, fmt.Errorf("asking for the API's schema: %w", err)
	}
	group, ok := paths["apis/"+packingplan.Resource.GroupVersion().String()]
	if !ok {
		return []string{packingplan.Kind, packingpolicy.Kind}, nil
	}
	text, err := group.Schema("application/json")
	if err != nil {
		return nil, fmt.Errorf("asking for the API's schema: %w", err)
	}
	type schema struct {
		Properties map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"properties"`
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading the API's schema: %w", err)
	}
	// They are named as in dev.stowage.v1alpha1.PackingPlan.
	kinds := map[string]schema{}
	for name, of := range document.Components.Schemas {
		kinds[name[strings.LastIndex(name, ".")+1:]] = of
	}
	var lacking []string
	if _, ok := kinds[packingplan.Kind].Properties["spec"].Properties["objective"]; !ok {
		lacking = append(lacking, packingplan.Kind+".spec.objective")
	}
	if _, ok := kinds[packingpolicy.Kind]; !ok {
		lacking = append(lacking, packingpolicy.Kind)
	}
	return lacking, nil
}
