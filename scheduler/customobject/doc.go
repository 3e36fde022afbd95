// Package customobject reads and writes objects of custom resources that have a spec and a status.
package customobject
