// Package minor holds what differs between the minors of Kubernetes that the scheduler is built for. The files of minors
// have the same functions: one is built with the tag of its minor and that minor's module file, the other without a tag.
package minor
