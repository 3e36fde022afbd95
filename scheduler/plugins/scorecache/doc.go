// Package scorecache is a PreFilter plugin that places equal pods by a ranking of the nodes which the first
// of them caused, in place of filtering and scoring the nodes anew for each.
//
// It is the mechanism of Zhou, Mondal, Cheng and Kabir, "On Optimized Scheduling Scheme for Rapid Pod
// Autoscaling in Kubernetes", Applied Sciences 16(5), 2481, 2026, section 4.2 and Algorithm 1, on an
// unmodified scheduling framework. The paper's words, and where they are here:
//
//   - ScoreKey (4.2.1): podkey.Key, a digest of whatever of a pod the scheduler looks at, told in one order.
//   - E_k = (feasibleHash, L, initialN, popped): ranking, one for each Key, made of the profile's own Filter
//     and Score plugins over all nodes.
//   - pop and advance: a node that was given away leaves the ranking, and the next in line is the best.
//   - refresh past tau: a ranking of which more than refreshThreshold is used up is made anew.
//   - MaxEntries: the key that was asked for least recently goes first.
//   - in-flight guard: look-up and remaking are under one lock. (Scheduling cycles are serial anyway.)
//
// # How it acts
//
// The plugin must be the last PreFilter plugin, so that all others have prepared the cycle. On a hit it takes
// the best node of the ranking, asks the profile's real Filter plugins about that node as it is in this cycle's
// snapshot, and tells the framework to look at no other node. The framework then filters that node itself, as
// always. If no candidate passes, the plugin says nothing and the cycle goes the full way. It must be the first
// PostFilter plugin, too: if the framework refuses the node after all, the pod is tried again on all nodes before
// another plugin makes room for it on that one, and what was known of its key is learnt anew.
//
// # What differs from the paper
//
//   - The paper filters all nodes for each pod and saves the scoring only. Here the filters are spared too:
//     the snapshot numbers the changes of each node, and a node that changed since the ranking was last used, for
//     whatever reason (a pod of this or another key was assumed, bound, deleted or resized there, or the node
//     itself changed), is filtered and scored again before the next choice. So the feasible set is always that of
//     the moment, and feasibleHash its running fingerprint. At each refresh it is held against the set just
//     found; a difference means that something decides about nodes that do not change, is counted, and makes
//     the key wait longer for its next ranking. A ranking whose scores depend on the feasible nodes as a set, as
//     those of soft topology spread do, is given up as soon as the fingerprint is another, as in the paper.
//   - A node that was popped is not lost until the refresh: it comes back at its new score. The choice is then
//     the one that scoring all nodes would make, ties going to the first by name, and not merely the next in
//     a list that grows old; with nodes of unequal size or load the plain rotation is worse than the stock scheduler.
//     Soft spread over zones is the exception, below.
//   - Scores that are normalised over all nodes mean something only beside the others. Nodes that
//     carry the extremes of each such score are kept as they were, and scored along with each node that changed: if
//     these yardsticks do not get the totals that they had, the ranking is thrown away.
//   - Soft topology spread looks at all nodes of a zone at once. Among the best nodes of each zone only one is
//     taken that is no worse by the ranking and whose zone has gained no more pods since, or that is no worse by all
//     other scores and whose zone is no fuller; if there is none, only scoring afresh can weigh the two against each
//     other. Here the choice is not always the one that scoring all nodes would make: each pod that comes changes
//     what spread weighs on every node, and ties between zones go to the zone with fewer pods, not to the first name.
//     What is kept is that the node is feasible, and that the pods are spread as evenly, within one pod per zone
//     on the random clusters of the tests. Only pods on nodes that the constraint's inclusion policies let in are
//     counted, and pods for which PodTopologySpread has other topologies than defaultSpreadTopologyKeys are not served.
//   - Nothing happens to a node when a pod is nominated to it. A node that is refused for such a pod's sake is looked
//     at again each time until the nomination has ended.
//   - A ranking costs several stock cycles on a large cluster, where the stock scheduler looks at a part of the
//     nodes. A key must have earned it by that many pods, and twice as many after each ranking that did not pay.
//
// # Who goes the full way
//
// Whoever could be placed wrongly or worse: see the reasons in bypass.go. Besides, the cache stands aside in
// a profile with plugins it does not know, unless they are named in trustedPlugins, and for pods that an
// extender filters or prioritises, since nothing shows a plugin what extenders say.
//
// The plugin signs no pods, which turns OpportunisticBatching off in its profile: two caches would
// each take the other's choice for the full path's.
package scorecache
