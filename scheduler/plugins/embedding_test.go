package plugins_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
)

// theirs is a plugin of the program that embeds the scheduler.
type theirs struct{}

func (theirs) Name() string { return "Theirs" }

func (theirs) PreEnqueue(context.Context, *v1.Pod) *fwk.Status { return nil }

// A plugin that is registered and not attached makes no plans and says nothing of it.
func TestAnEmbeddedSchedulerHasItsOwnPluginsAndOursAttached(t *testing.T) {
	const plans = "/apis/stowage.dev/v1alpha1/packingplans"
	server := &watched{open: map[string]int{}}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close) // after the context has ended, and with it the watches
	completed, _ := start(t, "optimizer")
	profile := completed.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: "Theirs"})
	own := frameworkruntime.Registry{
		"Theirs": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return theirs{}, nil },
	}
	client := fake.NewClientset()

	made, err := plugins.Embed(t.Context(), own, nil, func(options ...scheduler.Option) (*scheduler.Scheduler, error) {
		return scheduler.New(t.Context(), client, minor.NewInformerFactory(client, 0), nil,
			func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
			append([]scheduler.Option{
				scheduler.WithProfiles(profile), scheduler.WithKubeConfig(&rest.Config{Host: listening.URL}),
			}, options...)...)
	})
	testobjects.Must(t, err)

	if enabled := names(made.Profiles["default-scheduler"].ListPlugins().PreEnqueue); !slices.Contains(enabled, "Theirs") {
		t.Errorf("the program's own plugin is missing: %v", enabled)
	}
	testobjects.Eventually(t, "the plans are watched", func() bool { return server.count(plans, 0) == 1 })
}
