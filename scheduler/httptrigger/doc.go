// Package httptrigger serves the paper's HTTP API: a request asks for one solve.
//
// It neither solves nor disrupts pods: it creates a PackingPlan, as kubectl create does, and the leader makes the
// plan. A request is answered only if
//
//  1. the API server knows its user (TokenReview, or a client certificate of the cluster's authority);
//  2. that user may create PackingPlans (SubjectAccessReview);
//  3. it is a POST whose body, if there is one, is a small JSON object of known fields.
package httptrigger
