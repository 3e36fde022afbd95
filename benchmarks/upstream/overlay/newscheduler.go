// Package util gets this file by an overlay when upstream's benchmarks and tests are built: what makes a scheduler there
// calls newScheduler instead of scheduler.New.
package util

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/plugins"
)

const (
	// pluginsVariable is `none` for the stock scheduler, `registered` for one with Stowage's plugins.
	pluginsVariable = "STOWAGE_PLUGINS"
	// profileVariable names the KubeSchedulerConfiguration for schedulers that are given no profiles; unset, it is stock's.
	profileVariable = "STOWAGE_PROFILE"
	// crdsVariable names the folder of Stowage's CRDs; unset, the API server gets none.
	crdsVariable = "STOWAGE_CRDS"
	// crdsWithin is how long it may take until the API server serves them.
	crdsWithin = 30 * time.Second
)

func newScheduler(
	ctx context.Context, client clientset.Interface, informerFactory informers.SharedInformerFactory,
	dynInformerFactory dynamicinformer.DynamicSharedInformerFactory, recorders profile.RecorderFactory,
	given ...scheduler.Option,
) (*scheduler.Scheduler, error) {
	build := func(further ...scheduler.Option) (*scheduler.Scheduler, error) {
		return scheduler.New(ctx, client, informerFactory, dynInformerFactory, recorders, append(given, further...)...)
	}
	switch asked := os.Getenv(pluginsVariable); asked {
	case "none":
		return build()
	case "registered":
	default:
		return nil, fmt.Errorf("%s: there is no choice %q", pluginsVariable, asked)
	}
	if file := os.Getenv(profileVariable); file != "" {
		configuration, err := options.LoadConfigFromFile(klog.FromContext(ctx), file)
		if err != nil {
			return nil, err
		}
		// First, so that a test's own settings count.
		given = append([]scheduler.Option{
			scheduler.WithProfiles(configuration.Profiles...),
			scheduler.WithParallelism(configuration.Parallelism),
			scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
			scheduler.WithPodInitialBackoffSeconds(configuration.PodInitialBackoffSeconds),
			scheduler.WithPodMaxBackoffSeconds(configuration.PodMaxBackoffSeconds),
		}, given...)
	}
	if folder := os.Getenv(crdsVariable); folder != "" {
		if err := installCRDs(ctx, client, folder); err != nil {
			return nil, err
		}
	}
	return plugins.Embed(ctx, registryIn(given), nil, build)
}

// registryIn is the registry among options, of which a test's own plugins must be kept. The scheduler does not tell it.
func registryIn(given []scheduler.Option) frameworkruntime.Registry {
	settings := reflect.New(reflect.TypeFor[scheduler.Option]().In(0).Elem())
	for _, option := range given {
		reflect.ValueOf(option).Call([]reflect.Value{settings})
	}
	field := settings.Elem().FieldByName("frameworkOutOfTreeRegistry")
	return *(*frameworkruntime.Registry)(field.Addr().UnsafePointer())
}

// installCRDs makes the API server know the plans and the reservations, and returns when it does.
func installCRDs(ctx context.Context, client clientset.Interface, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	requests := client.CoreV1().RESTClient()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		body, err := yaml.YAMLToJSON(content)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		err = requests.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
			SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", file, err)
		}
		kind, _, _ := strings.Cut(filepath.Base(file), ".")
		err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, crdsWithin, true, func(ctx context.Context) (bool, error) {
			return requests.Get().AbsPath("/apis/stowage.dev/v1alpha1", kind).Do(ctx).Error() == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the API server does not serve %s: %w", kind, err)
		}
	}
	return nil
}
