package plugins

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
)

// Helm leaves definitions as they are: those of an older version must be told from those of this one, by what they lack.
func TestOldDefinitionsAreKnownByWhatTheyLack(t *testing.T) {
	const plan, policy = `"dev.stowage.v1alpha1.PackingPlan"`, `"dev.stowage.v1alpha1.PackingPolicy"`
	const older = `{"properties": {"spec": {"properties": {"abort": {}}}}}`
	const objective = `"spec": {"properties": {"objective": {}, "maximize": {}}}`
	const present = `{"properties": {` + objective + `, "status": {"properties": {"moves": {"items": {"properties": {"turn": {}}}}}}}}`
	for text, c := range map[string]struct {
		schemas string
		lacking []string
	}{
		"this version": {plan + ":" + present + "," + policy + ": {}", nil},
		"the version before": {plan + ":" + older, []string{"PackingPlan.spec.objective", "PackingPlan.spec.maximize",
			"PackingPlan.status.moves.turn", "PackingPolicy"}},
		"no turns of pods":       {plan + `:{"properties": {` + objective + `}},` + policy + ": {}", []string{"PackingPlan.status.moves.turn"}},
		"no definition of plans": {"", []string{"PackingPlan", "PackingPolicy"}},
	} {
		paths := map[string]openapi.GroupVersion{}
		if c.schemas != "" {
			paths["apis/stowage.dev/v1alpha1"] = &openapitest.FakeGroupVersion{
				GVSpec: []byte(`{"components": {"schemas": {` + c.schemas + `}}}`)}
		}

		lacking, err := lackingDefinitions(&openapitest.FakeClient{PathsMap: paths})

		if err != nil || !slices.Equal(lacking, c.lacking) {
			t.Errorf("%s: %v, %v", text, lacking, err)
		}
	}
}

// On a busy machine it takes seconds until the ledger is complete: to schedule before that would give reserved room away.
func TestALedgerThatTakesItsTimeIsWaitedFor(t *testing.T) {
	t.Parallel()
	began := time.Now()
	complete := false

	awaitLedger(t.Context(), func() bool {
		complete = time.Since(began) > absentTimeout+time.Second
		return complete
	}, func() bool { return false })

	if !complete {
		t.Error("scheduling began although the ledger was not complete")
	}
}

// Where the custom resources are not installed, the ledger is never complete, and pods must not wait for it.
func TestALedgerOfResourcesThatAreAbsentIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), syncTimeout-5*time.Second)
	defer cancel()

	awaitLedger(ctx, func() bool { return false }, func() bool { return true })

	if ctx.Err() != nil {
		t.Error("waited as long as for a ledger that is being filled")
	}
}
