// Package podkey tells which pods are equal to all that filters and scores nodes.
package podkey
