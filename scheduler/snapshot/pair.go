package snapshot

// Pair is a class of pods and a node.
type Pair struct{ Class, Node string }
