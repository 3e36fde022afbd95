// Package cachebypass lets a plugin say that its decision about a pod depends on more than the pod's spec and
// the nodes, so that the score cache must not reuse what it found for an earlier, equal pod.
package cachebypass
