// Package resources counts what pods ask for and nodes have, in the units the scheduler uses.
package resources
