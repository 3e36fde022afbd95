package scorecache

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// absolute are the plugins that score a node independently of other nodes. Any other plugin may normalise its scores.
var absolute = sets.New(names.NodeResourcesFit, names.NodeResourcesBalancedAllocation, names.ImageLocality)

// frame is the range that the normalised scores of a ranking are relative to. A plugin that normalises maps the lowest
// and the highest raw score to fixed values. As long as some node has each of the two, and none lies beyond, a node that
// is scored together with two such nodes gets the same score as among all nodes.
type frame struct {
	// low and high are the lowest and the highest score by each plugin, without limit by one that scores absolutely.
	low, high  []int64
	references []referenceNode
	// extremes are those of all plugins together.
	extremes extremes
}

// extremes are the lowest and the highest scores that a node has, two bits for each plugin.
type extremes uint64

const maxScorers = 32

// referenceNode is a node with an extreme score, as it was, with the total that it got.
type referenceNode struct {
	node  fwk.NodeInfo
	total int64
}

// newFrame makes the frame of the feasible nodes' scores.
func newFrame(nodes []fwk.NodeInfo, scores []fwk.NodePluginScores) frame {
	var f frame
	extreme := sets.New[string]()
	for column, plugin := range scores[0].Scores {
		if absolute.Has(plugin.Name) {
			f.low, f.high = append(f.low, math.MinInt64), append(f.high, math.MaxInt64)
			continue
		}
		byScore := func(a, b fwk.NodePluginScores) int {
			return cmp.Compare(a.Scores[column].Score, b.Scores[column].Score)
		}
		lowest, highest := slices.MinFunc(scores, byScore), slices.MaxFunc(scores, byScore)
		f.low, f.high = append(f.low, lowest.Scores[column].Score), append(f.high, highest.Scores[column].Score)
		f.extremes |= 3 << (2 * column)
		extreme.Insert(lowest.Name, highest.Name)
	}
	for i, node := range nodes {
		if extreme.Has(scores[i].Name) {
			f.references = append(f.references, referenceNode{copyOf(node), scores[i].TotalScore})
		}
	}
	return f
}

// copyOf copies a node. NodeInfo.Snapshot does not copy on how many nodes an image is, so ImageLocality would score the
// copy with 0.
func copyOf(node fwk.NodeInfo) fwk.NodeInfo {
	copied := node.Snapshot()
	maps.Copy(copied.GetImageStates(), node.GetImageStates())
	return copied
}

// place finds which extremes a node's scores are, and whether all lie inside.
func (f *frame) place(scores []fwk.PluginScore) (at extremes, inside bool) {
	for column, score := range scores {
		switch {
		case score.Score < f.low[column] || score.Score > f.high[column]:
			return 0, false
		case f.low[column] == f.high[column]:
			at |= 3 << (2 * column)
		case score.Score == f.low[column]:
			at |= 1 << (2 * column)
		case score.Score == f.high[column]:
			at |= 2 << (2 * column)
		}
	}
	return at, true
}
