// Package lexicographicorder is a Score plugin that breaks ties between nodes by name.
//
// The stock scheduler takes any of the nodes that share the highest total score: which one depends on
// the order in which nodes were seen and on how goroutines interleave. With this plugin it is always
// the first of them by name, compared byte by byte.
//
// A score is one of 101 integers, so no fixed assignment of scores can distinguish more than 101 nodes
// without overruling the other plugins. This plugin assigns none. When every node has been scored, it
// asks the framework for the total that all other plugins give, finds the nodes that share the highest
// one, and gives one point to the first of those by name and none to any other node. So
//
//   - it is exact for any number of nodes, and for any set and any weights of other plugins;
//   - it never overrules the other plugins: the point goes to a node that they already prefer.
//
// The price is that the other plugins score the nodes twice, and appear twice in the scheduler's
// metrics of evaluations.
//
// Two things would break this and are therefore excluded. A prioritising extender adds its scores after
// all plugins, so the plugin refuses to start with one. Opportunistic batching reuses the ranking of one
// pod for the next, and that ranking orders only its first place by name; the plugin does not sign pods,
// which turns batching off for its profile.
package lexicographicorder
