package simulation

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// policyConsolidate is for questions only: in a cluster, each PackingPlan says what it is for.
const policyConsolidate config.Policy = "Consolidate"

// Question asks for the scheduler's verdicts on plans for a cluster in which no pods are scheduled.
type Question struct {
	Instance
	// Policy is Strict, the default, Paper or Consolidate.
	Policy config.Policy `json:"policy,omitempty"`
	// Arguments are those of the plugin PriorityOptimizer, whose rules say which pods may be disrupted; what is left out
	// has its default.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Forbidden are what earlier rehearsals refused.
	Forbidden []ForbiddenPair `json:"forbidden,omitempty"`
	// Continue asks what the scheduler makes of the pods that wait: as things are, or, if there are plans, after the first
	// of them if it is accepted. It takes so many seconds at most; 0 does not ask.
	Continue float64 `json:"continueSeconds,omitempty"`
	// Plans are in the contract's JSON form. Without any, the answer is the snapshot alone.
	Plans []json.RawMessage `json:"plans,omitempty"`
}

// ForbiddenPair is a node that refused the class of the named pod.
type ForbiddenPair struct {
	// Pod is namespace/name.
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

// ParseQuestion reads a question from JSON, as ParseInstance reads an instance.
func ParseQuestion(data []byte) (Question, error) {
	var question Question
	form := observedQuestion{Question: &question}
	errs, err := parse(data, "a question", &question, &question.Instance, &form, &form.lists)
	if err != nil {
		return Question{}, err
	}
	return question, errors.Join(append(errs, question.validate()...)...)
}

// validate lists what is wrong outside the instance.
func (question *Question) validate() []error {
	var errs []error
	switch question.Policy {
	case "", config.PolicyStrict, config.PolicyPaper, policyConsolidate:
	default:
		errs = append(errs, fmt.Errorf("policy: %q is none of %s, %s and %s", question.Policy,
			config.PolicyStrict, config.PolicyPaper, policyConsolidate))
	}
	if _, err := question.arguments(); err != nil {
		errs = append(errs, fmt.Errorf("arguments: %w", err))
	}
	pods, nodes := map[string]bool{}, map[string]bool{}
	for i := range question.Pods {
		pods[key(&question.Pods[i])] = true
	}
	for i := range question.Nodes {
		nodes[question.Nodes[i].Name] = true
	}
	for i, pair := range question.Forbidden {
		if !pods[pair.Pod] {
			errs = append(errs, fmt.Errorf("forbidden[%d].pod: the instance has no pod %q", i, pair.Pod))
		}
		if !nodes[pair.Node] {
			errs = append(errs, fmt.Errorf("forbidden[%d].node: the instance has no node %q", i, pair.Node))
		}
	}
	return errs
}

func (question *Question) arguments() (*config.PriorityOptimizerArgs, error) {
	if question.Arguments == nil {
		return config.Decode(nil)
	}
	return config.Decode(&runtime.Unknown{Raw: question.Arguments, ContentType: runtime.ContentTypeJSON})
}

func (question *Question) policy() plan.Policy {
	if question.Policy == policyConsolidate {
		return plan.Consolidate
	}
	return question.Policy.Plan()
}

// forbid adds the pair to the snapshot, unless the pod is not in it.
func (pair ForbiddenPair) forbid(seen *snapshot.Snapshot) {
	for _, pod := range seen.Pods {
		if key(pod.Object) == pair.Pod {
			seen.Forbid(pod.Class, pair.Node)
		}
	}
}
