// Package secureport puts a handler beside the stock scheduler's own, on the port, behind the certificate and
// through the shutdown with which that serves its health and metrics.
//
// The stock scheduler builds its handlers and starts their server in one function that has no place for
// another one. But net/http tells every handler which server it works for. So the first connection of the
// port is one within the process, over which the server is met and the handler put before those that it has.
// Nobody else is let in before.
package secureport
