package scorecache

import (
	"maps"
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
	scales     []scale
	references []referenceNode
}

// scale is one plugin's part of a frame.
type scale struct {
	plugin    string
	low, high int64
	// atLow and atHigh count the feasible nodes with these scores.
	atLow, atHigh int
	// scores are those of the feasible nodes, by number; absent for others.
	scores []int64
}

const absent = fwk.MinScore - 1

// referenceNode is a node with an extreme score, as it was, with the total that it got.
type referenceNode struct {
	node  fwk.NodeInfo
	total int64
}

// newFrame makes the frame of the feasible nodes' scores. nodes is how many nodes there are, at the numbers of the
// feasible ones.
func newFrame(nodes int, at []int32, infos []fwk.NodeInfo, scores []fwk.NodePluginScores) *frame {
	f := &frame{}
	extremes := sets.New[int]()
	for i, plugin := range scores[0].Scores {
		if absolute.Has(plugin.Name) {
			continue
		}
		s, lowest, highest := newScale(plugin.Name, nodes, i, at, scores)
		f.scales = append(f.scales, s)
		extremes.Insert(lowest, highest)
	}
	for _, i := range slices.Sorted(slices.Values(extremes.UnsortedList())) {
		f.references = append(f.references, referenceNode{copyOf(infos[i]), scores[i].TotalScore})
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

func newScale(plugin string, nodes, column int, at []int32, scores []fwk.NodePluginScores) (s scale, lowest, highest int) {
	s = scale{plugin: plugin, scores: make([]int64, nodes)}
	for i := range s.scores {
		s.scores[i] = absent
	}
	for i := range scores {
		value := scores[i].Scores[column].Score
		s.scores[at[i]] = value
		if value < scores[lowest].Scores[column].Score {
			lowest = i
		}
		if value > scores[highest].Scores[column].Score {
			highest = i
		}
	}
	s.low, s.high = scores[lowest].Scores[column].Score, scores[highest].Scores[column].Score
	for i := range scores {
		s.count(scores[i].Scores[column].Score, 1)
	}
	return s, lowest, highest
}

func (s *scale) count(value int64, change int) {
	if value == s.low {
		s.atLow += change
	}
	if value == s.high {
		s.atHigh += change
	}
}

func (s *scale) replace(at int32, value int64) {
	if before := s.scores[at]; before != absent {
		s.count(before, -1)
	}
	if value != absent {
		s.count(value, 1)
	}
	s.scores[at] = value
}

// leave removes the scores of a node.
func (f *frame) leave(at int32) {
	for i := range f.scales {
		f.scales[i].replace(at, absent)
	}
}

// take enters new scores of a node. It reports false if one lies outside the frame.
func (f *frame) take(at int32, scores []fwk.PluginScore) bool {
	next := 0
	for _, score := range scores {
		if absolute.Has(score.Name) {
			continue
		}
		s := &f.scales[next]
		next++
		if score.Score < s.low || score.Score > s.high {
			return false
		}
		s.replace(at, score.Score)
	}
	return true
}

// holds says whether some node still has each extreme, which the frame depends on.
func (f *frame) holds() bool {
	for i := range f.scales {
		if f.scales[i].atLow == 0 || f.scales[i].atHigh == 0 {
			return false
		}
	}
	return true
}
