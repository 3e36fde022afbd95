// Package podkey says which pods are equal for all plugins that filter and score nodes.
package podkey
