package scorecache

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
)

// known are the plugins whose Filter and Score are known to depend only on the node and on what makes up a Key, for pods
// that no rule of bypass.go excludes.
var known = sets.New(
	names.DynamicResources, names.ImageLocality, names.InterPodAffinity, names.NodeAffinity,
	names.NodeDeclaredFeatures, names.NodeName, names.NodePorts, names.NodeResourcesBalancedAllocation,
	names.NodeResourcesFit, names.NodeUnschedulable, names.NodeVolumeLimits, names.PodTopologySpread,
	names.TaintToleration, names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone,
	names.GangScheduling, names.PodGroupPodsCount,
	lexicographicorder.Name, "PriorityOptimizer", "Reservations", Name,
)

// profile is what matters of the profile that the cache runs in.
type profile struct {
	// unavailable says why it cannot; empty if it can.
	unavailable string
	// byName: ties go to the first node by name.
	byName bool
	// spreads: PodTopologySpread filters nodes.
	spreads bool
	// percentage of the nodes is scored by the stock scheduler; nil where only the whole scheduler has one.
	percentage *int32
}

func profileOf(handle fwk.Handle, trusted []string) profile {
	of, ok := handle.(framework.Framework)
	if !ok {
		return profile{unavailable: "the framework does not tell which plugins the profile has"}
	}
	plugins := of.ListPlugins()
	return profile{
		unavailable: unavailableReason(plugins, trusted),
		byName:      enables(plugins.Score, lexicographicorder.Name),
		spreads:     enables(plugins.Filter, names.PodTopologySpread),
		percentage:  of.PercentageOfNodesToScore(),
	}
}

func unavailableReason(plugins *config.Plugins, trusted []string) string {
	if len(plugins.Score.Enabled) > maxScorers {
		return fmt.Sprintf("it follows the scores of no more than %d plugins", maxScorers)
	}
	for _, set := range []config.PluginSet{plugins.PreFilter, plugins.Filter, plugins.PreScore, plugins.Score} {
		for _, plugin := range set.Enabled {
			if !known.Has(plugin.Name) && !slices.Contains(trusted, plugin.Name) {
				return "it is not known on what plugin " + plugin.Name + " bases its verdicts; if on nothing but the " +
					"node and what makes up a key, name it in trustedPlugins"
			}
		}
	}
	if preFilter := plugins.PreFilter.Enabled; preFilter[len(preFilter)-1].Name != Name {
		return "it must be the last plugin at preFilter: list it last"
	}
	if postFilter := plugins.PostFilter.Enabled; len(postFilter) == 0 || postFilter[0].Name != Name {
		return "it must be the first plugin at postFilter, or another makes room on the one node that it named: " +
			"list it under postFilter, where it comes before those of multiPoint"
	}
	return ""
}

func enables(set config.PluginSet, name string) bool {
	return slices.ContainsFunc(set.Enabled, func(plugin config.Plugin) bool { return plugin.Name == name })
}

// The stock scheduler's own rule for how many feasible nodes it searches for.
const (
	fewNodes          = 100
	nodesPerPercent   = 125
	defaultPercentage = 50
	leastPercentage   = 5
)

// priceOf is the cost of filtering and scoring all nodes, in cycles of the stock scheduler, which scores only some of
// them. Without the profile's own percentage this uses the adaptive one: if the whole scheduler has another, which
// plugins do not see, the price is too high rather than too low.
func priceOf(nodes int, percentage *int32) int {
	if nodes < fewNodes {
		return 1
	}
	adaptive := max(defaultPercentage-int32(nodes/nodesPerPercent), leastPercentage)
	percent := cmp.Or(ptr.Deref(percentage, 0), adaptive)
	looked := max(nodes*int(percent)/100, fewNodes)
	return (nodes + looked - 1) / looked
}
