// Command descheduler-pass runs the descheduler's plugin HighNodeUtilization on a state of a cluster that somebody else
// holds, once for each line of standard input.
//
// A line is {"nodes":[],"pods":[],"disruptionBudgets":[]} with Kubernetes' objects. What the plugin wants to evict is
// asked for, one after the other, as {"evict":"namespace/name"}; the next line of standard input says {"refused":"why"}
// or {}. At the end of the pass stands {"done":{"evicted":1,"kept":{"why":2}}}. Plugin, evictor and the order of pods
// are upstream's; of nodes that are used alike upstream itself takes any first.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
)

const name = nodeutilization.HighNodeUtilizationPluginName

// notEvicted are upstream's words where a pod stays.
var notEvicted = []string{
	"Pod fails the following checks",
	"Skipping eviction for pod, doesn't tolerate node taint",
	"pod does not fit on any other node because of nodeSelector(s), Taint(s), or nodes marked as unschedulable",
}

type state struct {
	Nodes             []v1.Node                      `json:"nodes"`
	Pods              []v1.Pod                       `json:"pods"`
	DisruptionBudgets []policyv1.PodDisruptionBudget `json:"disruptionBudgets"`
}

type done struct {
	Evicted uint           `json:"evicted"`
	Kept    map[string]int `json:"kept"`
}

func main() {
	arguments := flag.String("arguments", `{"thresholds":{"cpu":20,"memory":20,"pods":20}}`, "HighNodeUtilizationArgs as JSON")
	evictor := flag.String("evictor", `{"nodeFit":true}`, "DefaultEvictorArgs as JSON")
	flag.Parse()
	configuration, err := configure(*arguments, *evictor)
	if err == nil {
		err = passAll(configuration, &conversation{bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "descheduler-pass:", err)
		os.Exit(1)
	}
}

// configure returns a profile as a DeschedulerPolicy has it.
func configure(arguments, evictor string) (api.DeschedulerProfile, error) {
	balance, filter := &nodeutilization.HighNodeUtilizationArgs{}, &defaultevictor.DefaultEvictorArgs{}
	err := errors.Join(json.Unmarshal([]byte(arguments), balance), json.Unmarshal([]byte(evictor), filter))
	if err != nil {
		return api.DeschedulerProfile{}, err
	}
	nodeutilization.SetDefaults_HighNodeUtilizationArgs(balance)
	defaultevictor.SetDefaults_DefaultEvictorArgs(filter)
	enabled := func(plugin string) api.PluginSet { return api.PluginSet{Enabled: []string{plugin}} }
	return api.DeschedulerProfile{
			Name:          "pass",
			PluginConfigs: []api.PluginConfig{{Name: name, Args: balance}, {Name: defaultevictor.PluginName, Args: filter}},
			Plugins: api.Plugins{Balance: enabled(name), Filter: enabled(defaultevictor.PluginName),
				PreEvictionFilter: enabled(defaultevictor.PluginName)},
		}, errors.Join(
			nodeutilization.ValidateHighNodeUtilizationArgs(balance), defaultevictor.ValidateDefaultEvictorArgs(filter))
}

// conversation is with the one who holds the cluster.
type conversation struct {
	in  *bufio.Reader
	out *json.Encoder
}

func (c *conversation) read(into any) error {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// evict asks for an eviction, and returns why it is refused.
func (c *conversation) evict(pod string) (refused string, err error) {
	if err := c.out.Encode(map[string]string{"evict": pod}); err != nil {
		return "", err
	}
	var answer struct {
		Refused string `json:"refused"`
	}
	err = c.read(&answer)
	return answer.Refused, err
}

func passAll(configuration api.DeschedulerProfile, with *conversation) error {
	for {
		var now state
		if err := with.read(&now); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		found, err := pass(configuration, now, with)
		if err != nil {
			return err
		}
		if err := with.out.Encode(map[string]done{"done": found}); err != nil {
			return err
		}
	}
}

// pass runs the plugin once. What it sees of the cluster stays as it was: a pass is over before an evicted pod has ended.
func pass(configuration api.DeschedulerProfile, now state, with *conversation) (done, error) {
	kept := &keptPods{kept: map[string]string{}}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.New(kept)))
	defer cancel()
	var broken error
	client := fake.NewSimpleClientset(now.objects()...)
	client.PrependReactor("create", "pods/eviction", func(action clienttesting.Action) (bool, runtime.Object, error) {
		eviction := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		pod := eviction.Namespace + "/" + eviction.Name
		refused, err := with.evict(pod)
		if broken = errors.Join(broken, err); broken != nil {
			return true, nil, broken
		}
		if refused != "" {
			kept.kept[pod] = refused
			return true, nil, apierrors.NewTooManyRequests(refused, 0)
		}
		return true, nil, nil
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Lister()
	factory.Policy().V1().PodDisruptionBudgets().Informer()
	assigned, err := podutil.BuildGetPodsAssignedToNodeFunc(pods)
	if err != nil {
		return done{}, err
	}
	evictor, err := evictions.NewPodEvictor(
		ctx, client, &events.FakeRecorder{}, pods, features.DefaultMutableFeatureGate, evictions.NewOptions())
	if err != nil {
		return done{}, err
	}
	runner, err := profile.NewProfile(ctx, configuration, registry(), profile.WithClientSet(client),
		profile.WithSharedInformerFactory(factory), profile.WithPodEvictor(evictor),
		profile.WithGetPodsAssignedToNodeFnc(inOrder(assigned)))
	if err != nil {
		return done{}, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ready, err := nodeutil.ReadyNodes(ctx, client, nodes, "")
	if err != nil {
		return done{}, err
	}
	if status := runner.RunBalancePlugins(ctx, ready); status != nil && status.Err != nil {
		return done{}, status.Err
	}
	cancel()
	factory.Shutdown()
	return done{evictor.TotalEvicted(), kept.count()}, broken
}

func (s *state) objects() []runtime.Object {
	var objects []runtime.Object
	for i := range s.Nodes {
		objects = append(objects, &s.Nodes[i])
	}
	for i := range s.Pods {
		objects = append(objects, &s.Pods[i])
	}
	for i := range s.DisruptionBudgets {
		objects = append(objects, &s.DisruptionBudgets[i])
	}
	return objects
}

func registry() pluginregistry.Registry {
	known := pluginregistry.NewRegistry()
	pluginregistry.Register(name, nodeutilization.NewHighNodeUtilization, &nodeutilization.HighNodeUtilization{},
		&nodeutilization.HighNodeUtilizationArgs{}, nodeutilization.ValidateHighNodeUtilizationArgs,
		nodeutilization.SetDefaults_HighNodeUtilizationArgs, known)
	pluginregistry.Register(defaultevictor.PluginName, defaultevictor.New, &defaultevictor.DefaultEvictor{},
		&defaultevictor.DefaultEvictorArgs{}, defaultevictor.ValidateDefaultEvictorArgs,
		defaultevictor.SetDefaults_DefaultEvictorArgs, known)
	return known
}

// inOrder has pods come by name; an index has them in any order.
func inOrder(assigned podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		pods, err := assigned(node, filter)
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		return pods, err
	}
}

// keptPods is a log that keeps, by pod, why it is not evicted.
type keptPods struct {
	kept map[string]string
}

func (k *keptPods) count() map[string]int {
	counts := map[string]int{}
	for _, why := range k.kept {
		counts[why]++
	}
	return counts
}

func (k *keptPods) Info(_ int, message string, details ...any) {
	if !slices.Contains(notEvicted, message) {
		return
	}
	var pod string
	for i := 0; i+1 < len(details); i += 2 {
		switch details[i] {
		case "pod":
			pod = fmt.Sprint(details[i+1])
		case "checks":
			message = fmt.Sprint(details[i+1])
		}
	}
	k.kept[pod] = message
}

func (k *keptPods) Init(logr.RuntimeInfo)          {}
func (k *keptPods) Enabled(int) bool               { return true }
func (k *keptPods) Error(error, string, ...any)    {}
func (k *keptPods) WithValues(...any) logr.LogSink { return k }
func (k *keptPods) WithName(string) logr.LogSink   { return k }
