// Package plugins lists the scheduler plugins of Stowage, one folder each.
package plugins
