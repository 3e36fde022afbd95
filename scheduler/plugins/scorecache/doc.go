// Package scorecache is a PreFilter plugin that places equal pods by a ranking of the nodes that was made for the
// first of them, instead of filtering and scoring the nodes again for each.
//
// It is the mechanism of Zhou, Mondal, Cheng and Kabir, "On Optimized Scheduling Scheme for Rapid Pod
// Autoscaling in Kubernetes", Applied Sciences 16(5), 2481, 2026, section 4.2 and Algorithm 1, on an
// unmodified scheduling framework. The paper's words, and where they are here:
//
//   - ScoreKey (4.2.1): podkey.Key, a digest of all fields of a pod that the scheduler reads, in a fixed order.
//   - E_k = (feasibleHash, L, initialN, popped): ranking, one for each Key, made with the profile's own Filter
//     and Score plugins over all nodes.
//   - pop and advance: a node that was assigned leaves the ranking, and the next one becomes the best.
//   - refresh past tau: a ranking is remade once more than refreshThreshold of it is used up.
//   - MaxEntries: the least recently used key is dropped first.
//   - in-flight guard: look-up and remaking are under one lock. (Scheduling cycles are serial anyway.)
//
// # How it acts
//
// The plugin must be the last PreFilter plugin, so that all others have prepared the cycle. On a hit it takes the
// best node of the ranking, runs the profile's real Filter plugins on that node in this cycle's snapshot, and
// restricts the framework to that node. The framework then filters the node itself, as always. If no candidate
// passes, the plugin does nothing and the cycle covers all nodes. It must also be the first PostFilter plugin: if
// the framework refuses the node after all, the pod is tried again on all nodes before another plugin makes room
// for it on that one, and what is known of its key is discarded.
//
// # What differs from the paper
//
//   - The paper filters all nodes for each pod and saves the scoring only. Here the filters are saved too: the
//     snapshot numbers the changes of each node, and a node that changed since the ranking was last used, for
//     whatever reason (a pod of this or another key was assumed, bound, deleted or resized there, or the node
//     itself changed), is filtered and scored again before the next choice. So the feasible set is always current,
//     and feasibleHash is its running fingerprint. At each refresh the fingerprint is compared with the set just
//     found. A difference means that something changed the feasibility of an unchanged node: it is counted, and
//     makes the key wait longer for its next ranking. A ranking whose scores depend on the feasible nodes as a set,
//     as those of soft topology spread do, is dropped as soon as the fingerprint changes, as in the paper.
//   - A node that was popped is not lost until the refresh: it is readmitted at its new score. So the choice is the
//     one that scoring all nodes would make, with ties going to the first by name, and not merely the next in an
//     outdated list; with nodes of unequal size or load, plain rotation is worse than the stock scheduler. Soft
//     spread over zones is the exception, see below.
//   - Normalised scores are relative to those of the other nodes. So copies of the nodes with the lowest and the
//     highest score of each such plugin are kept as reference nodes, and scored together with each node that
//     changed: if their totals are no longer the same, the ranking is dropped.
//   - Soft topology spread scores all nodes of a zone together. Of the best nodes of each zone, one is chosen only if
//     its total is no lower and its zone has gained no more pods since, or if its score without spread is no lower
//     and its zone has no more pods. If there is none, only scoring all nodes again can weigh score against spread.
//     Here the choice is not always the one that scoring all nodes would make: each new pod changes the weight of
//     spread on every node, and ties between zones go to the zone with fewer pods, not to the first name. What is
//     guaranteed is that the node is feasible and that the skew is as low as the stock scheduler's, within one pod
//     per zone on the random clusters of the tests. Only pods on nodes that the constraint's inclusion policies
//     admit are counted, and pods for which PodTopologySpread has other topologies than defaultSpreadTopologyKeys
//     are not served.
//   - A nomination does not change a node. A node that is refused because of a nominated pod is checked again each
//     time until the nomination has ended.
//   - A ranking costs several stock cycles on a large cluster, where the stock scheduler scores only some of the
//     nodes. That many pods of a key must have come first, and twice as many after each ranking that did not pay off.
//
// # Pods that are not served
//
// Pods that could be placed wrongly or worse get a full scheduling cycle: see the reasons in bypass.go. The cache is
// also off in a profile with plugins that it does not know, unless they are named in trustedPlugins, and for pods that
// an extender filters or prioritises, since plugins do not see the extenders' results.
//
// The plugin signs no pods, which turns OpportunisticBatching off in its profile: each of the two caches would take
// the other's choice for the result of a full cycle.
package scorecache
