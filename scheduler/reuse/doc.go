// Package reuse is how a plugin says that what it decides for a pod depends on more than the pod's spec and
// the nodes, so that nothing may be taken over from an earlier pod that looks the same.
package reuse
