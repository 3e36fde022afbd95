package plugins_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/profiletest"
)

// watched is an API server without any object, which counts the watches that are open.
type watched struct {
	mu   sync.Mutex
	open map[string]int
}

func (w *watched) count(path string, change int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[path] += change
	return w.open[path]
}

func (w *watched) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Get("watch") == "" {
		answer.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(answer, `{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}`)
		return
	}
	w.count(request.URL.Path, 1)
	defer w.count(request.URL.Path, -1)
	answer.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(answer).Flush()
	<-request.Context().Done()
}

// A plan of hundreds of pods is a large object: each further watch of the plans sends and keeps them once more.
func TestAllProfilesShareOneWatchOfThePlans(t *testing.T) {
	const folder = "/apis/stowage.dev/v1alpha1/"
	server := &watched{open: map[string]int{}}
	listening := httptest.NewServer(server)
	defer listening.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts := profiletest.Options(t, withSecondProfile(t, profiletest.Shipped(t, profileFolder, "optimizer")))
	opts.Master = listening.URL
	installation := plugins.NewInstallation()
	var registered []app.Option
	for name, factory := range installation.Registry() {
		registered = append(registered, app.WithPlugin(name, factory))
	}
	completed, scheduler, err := app.Setup(ctx, opts, registered...)
	if err != nil {
		t.Fatal(err)
	}

	if err := installation.Attach(ctx, scheduler, completed.ComponentConfig.Profiles, nil); err != nil {
		t.Fatal(err)
	}

	err = wait.PollUntilContextTimeout(ctx, time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return server.count(folder+"reservations", 0) > 0 && server.count(folder+"packingplans", 0) > 0, nil
	})
	if plans := server.count(folder+"packingplans", 0); err != nil || len(scheduler.Profiles) != 2 || plans != 1 {
		t.Errorf("%d profiles, %d watches of plans: %v", len(scheduler.Profiles), plans, err)
	}
}

// withSecondProfile adds a copy of the first profile under another name.
func withSecondProfile(t *testing.T, content map[string]any) map[string]any {
	t.Helper()
	first := content["profiles"].([]any)[0]
	encoded, err := yaml.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var second map[string]any
	if err := yaml.Unmarshal(encoded, &second); err != nil {
		t.Fatal(err)
	}
	second["schedulerName"] = "second"
	content["profiles"] = []any{first, second}
	return content
}
