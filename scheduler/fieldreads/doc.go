// Package fieldreads holds a test that walks the source of the scheduler and its plugins, and collects which fields of
// the API's objects they read. What-if drops some fields of what it reads from a cluster, by the list in
// testbed/stowage_testbed/whatif/objects.yaml: none of them may be among those.
//
// The walk takes too much for read rather than too little. Every function of the scheduler's own packages counts, and all
// that they call in other packages, also through interfaces; a field that is only written counts as well.
package fieldreads
