// Package secureport puts a handler beside the stock scheduler's own, on the port, behind the certificate and
// through the shutdown with which that serves its health and metrics.
//
// The stock scheduler builds its handlers and starts their server in one function that cannot be given another
// handler. But net/http tells every handler which server it works for. So the first connection of the port is made
// within the process: its request captures the server and puts the handler before those that the server has. No other
// connection is accepted before that.
package secureport
