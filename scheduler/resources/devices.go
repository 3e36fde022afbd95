package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"
)

// forgottenAfter is for how long an ask is kept that no pod has.
const forgottenAfter = time.Hour

// Catalogue knows what devices nodes have, which of them serve what pods ask for, and who holds them. All profiles of a
// process share one. A nil catalogue knows of no devices.
type Catalogue struct {
	Clock clock.PassiveClock

	sources atomic.Pointer[sources]
	state   atomic.Pointer[state]
	specs   specs

	mu     sync.Mutex
	judge  judge
	slices sets.Set[*resourceapi.ResourceSlice]
	offers []offer
	// incomplete is the number of pools that their drivers are still publishing.
	incomplete int
	asks       map[string]*studied
	// listing are the extended resources that some node lists itself.
	listing sets.Set[v1.ResourceName]
	// digests are those of the devices by node; nil after a change.
	digests map[string]string
	faces   faces
}

// sources are where the catalogue looks things up.
type sources struct {
	factory   informers.SharedInformerFactory
	manager   fwk.SharedDRAManager
	claims    cache.Indexer
	templates resourcelisters.ResourceClaimTemplateLister
	pods      corelisters.PodLister
	nodes     corelisters.NodeLister
}

// studied is an ask, and what has been found out about it.
type studied struct {
	ask
	bit int
	// seen is when a pod last had it.
	seen time.Time
	// by is the class that the selectors are from, as it was.
	by        *resourceapi.DeviceClass
	selectors *selectors
	verdicts  map[*resourceapi.ResourceSlice]verdicts
	// others are the asks of which it has been an alternative.
	others sets.Set[string]
}

// state is how things are from one refresh, or new ask, to the next. It does not change.
type state struct {
	number uint64
	asks   map[string]*knownAsk
	// extended are those that ask for extended resources which some device serves.
	extended []*knownAsk
	family   family
	// nodes are the masks of the devices that each node has.
	nodes map[string]map[asksMask]int64
	// devices are the masks of the same by device.
	devices map[deviceID]asksMask
	// some: drivers have published devices of whatever sort.
	some       bool
	incomplete int
	// bins are the devices that pods share or that overlap; nil: they are not counted.
	bins *bins
}

type knownAsk struct {
	ask
	bit          int
	alternatives sets.Set[string]
	// matched: some device serves it.
	matched bool
	refused []string
}

// NewCatalogue returns the catalogue of a process, which knows of no devices until it is connected.
func NewCatalogue() *Catalogue {
	c := &Catalogue{Clock: clock.RealClock{}, judge: newJudge(), asks: map[string]*studied{}}
	c.state.Store(&state{})
	return c
}

// connectTimeout is how long the API server may take to say whether templates may be read.
const connectTimeout = 10 * time.Second

// nodeIndex finds claims by the node of their devices, ownerIndex by the UID of the pod for which they were made.
const (
	nodeIndex  = "stowage.dev/device-node"
	ownerIndex = "stowage.dev/claim-owner"
)

// Connect has the catalogue read the objects that the handle's informers show. It must be called before these are started,
// and may be called for each profile.
func (c *Catalogue) Connect(handle fwk.Handle) error {
	if c == nil || handle.SharedDRAManager() == nil {
		return nil
	}
	factory := handle.SharedInformerFactory()
	if known := c.sources.Load(); known != nil && known.factory == factory {
		return nil // a rehearsal's manager of devices is not the scheduler's
	}
	if !mayReadTemplates(handle) {
		return nil
	}
	claims, of := factory.Resource().V1().ResourceClaims().Informer(), factory.Resource().V1()
	if _, done := claims.GetIndexer().GetIndexers()[ownerIndex]; !done {
		err := claims.AddIndexers(cache.Indexers{nodeIndex: indexOf(nodeOf), ownerIndex: indexOf(ownerOf)})
		if err != nil {
			return fmt.Errorf("indexing claims of devices: %w", err)
		}
	}
	// It fails only on an informer that runs already, which then keeps the managed fields.
	_ = of.ResourceClaimTemplates().Informer().SetTransform(withoutManagedFields)
	c.sources.Store(&sources{factory: factory, manager: handle.SharedDRAManager(), claims: claims.GetIndexer(),
		templates: of.ResourceClaimTemplates().Lister(), pods: factory.Core().V1().Pods().Lister(),
		nodes: factory.Core().V1().Nodes().Lister()})
	return nil
}

// mayReadTemplates says whether the scheduler may list templates of claims, which the role of an earlier chart does not let it:
// with an informer of them, it would never become ready. Without them, no plan contains pods with claims.
func mayReadTemplates(handle fwk.Handle) bool {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_, err := handle.ClientSet().ResourceV1().ResourceClaimTemplates("").List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		klog.Background().Info("Plans leave pods with ResourceClaims alone, since the scheduler may not list and watch "+
			"resourceclaimtemplates; upgrade the release with this version's chart", "reason", err.Error())
		return false
	}
	return true
}

func indexOf(value func(*resourceapi.ResourceClaim) string) cache.IndexFunc {
	return func(object any) ([]string, error) {
		if claim, ok := object.(*resourceapi.ResourceClaim); ok {
			if found := value(claim); found != "" {
				return []string{found}, nil
			}
		}
		return nil, nil
	}
}

func ownerOf(claim *resourceapi.ResourceClaim) string {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		return string(owner.UID)
	}
	return ""
}

func withoutManagedFields(object any) (any, error) {
	if one, ok := object.(metav1.Object); ok {
		one.SetManagedFields(nil)
	}
	return object, nil
}

// Refresh reads the devices as they are now, and what all pods ask of them: the amounts of a node depend on that. Where
// there are neither devices nor claims of any, it has nothing to read.
func (c *Catalogue) Refresh() {
	if c == nil || c.sources.Load() == nil {
		return
	}
	from := c.sources.Load()
	published, err := from.manager.ResourceSlices().ListWithDeviceTaintRules()
	if err != nil {
		return // what was known before is the best guess
	}
	if now := c.state.Load(); len(published) == 0 && !now.some && len(now.asks) == 0 && len(from.claims.ListKeys()) == 0 {
		return
	}
	var asks []ask
	all := &podDevices{counts: map[string]int64{}} // one for all: each ask is found once
	pods, _ := from.pods.List(labels.Everything()) // never fails
	for _, pod := range pods {
		if len(pod.Spec.ResourceClaims) > 0 || len(published) > 0 && len(c.extendedOf(pod)) > 0 {
			found, _, _ := c.asksOf(pod, all)
			asks = append(asks, found...)
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.add(asks)
	replaced := len(published) != len(c.slices) || !c.slices.HasAll(published...)
	if replaced {
		c.slices, c.digests, changed = sets.New(published...), nil, true
		c.offers, c.incomplete = offersOf(published, c.bins())
		if c.bins() {
			c.faces.read(c.offers)
		}
	}
	for name, one := range c.asks {
		if c.Clock.Since(one.seen) > forgottenAfter {
			delete(c.asks, name)
			changed = true
		}
	}
	if listing := c.listed(from); !listing.Equal(c.listing) {
		c.listing, changed = listing, true
	}
	if c.study(from, replaced) || changed {
		c.publish()
	}
	c.specs.forget(4*len(from.claims.ListKeys()) + maxAsks)
}

// listed are the extended resources of asks that some node lists itself.
func (c *Catalogue) listed(from *sources) sets.Set[v1.ResourceName] {
	listing := sets.New[v1.ResourceName]()
	for _, one := range c.asks {
		if one.extended == "" {
			continue
		}
		nodes, _ := from.nodes.List(labels.Everything()) // never fails
		if slices.ContainsFunc(nodes, func(node *v1.Node) bool { return lists(node, one.extended) }) {
			listing.Insert(one.extended)
		}
	}
	return listing
}

// lists says that the node offers the resource by itself: then the scheduler looks for no devices there.
func lists(node *v1.Node, name v1.ResourceName) bool {
	quantity := node.Status.Allocatable[name]
	return quantity.Sign() > 0
}

// know returns a state in which the asks are known, as far as there is room for them.
func (c *Catalogue) know(asks []ask) *state {
	now := c.state.Load()
	if !slices.ContainsFunc(asks, func(one ask) bool { return !now.asks[one.name].covers(one) }) {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.add(asks) {
		c.study(c.sources.Load(), false)
		c.publish()
	}
	return c.state.Load()
}

// add says whether any of the asks is new. Of the methods from here to publish, the caller holds the lock.
func (c *Catalogue) add(asks []ask) (some bool) {
	for _, one := range asks {
		known := c.asks[one.name]
		if known == nil {
			if len(c.asks) == maxAsks {
				continue
			}
			taken := asksMask{}
			for _, other := range c.asks {
				taken = taken.with(maskOf(other.bit))
			}
			known = &studied{ask: one}
			for taken.has(known.bit) {
				known.bit++
			}
			c.asks[one.name], some = known, true
		}
		known.seen, known.class = c.Clock.Now(), one.class
		if !known.others.HasAll(one.alternatives...) {
			known.others, some = known.others.Clone().Insert(one.alternatives...), true
		}
	}
	return some
}

// study finds out which devices serve each ask; it looks only at what is new: slices that were replaced, and asks and their
// classes. It says whether any of these has changed.
func (c *Catalogue) study(from *sources, replaced bool) (changed bool) {
	for _, one := range c.asks {
		class, err := from.manager.DeviceClasses().Get(one.class)
		if err != nil {
			class = nil // no device serves it
		}
		if one.by != class || one.selectors == nil {
			changed, one.by, one.verdicts = true, class, nil
			expressions := []string{}
			if class != nil {
				for _, selector := range class.Spec.Selectors {
					if selector.CEL != nil {
						expressions = append(expressions, selector.CEL.Expression)
					}
				}
			}
			one.selectors = newSelectors(append(expressions, one.ask.selectors...))
		}
		if one.verdicts != nil && !replaced {
			continue
		}
		before := one.verdicts
		one.verdicts = make(map[*resourceapi.ResourceSlice]verdicts, len(c.slices))
		for slice := range c.slices {
			found, known := before[slice]
			if !known && class != nil {
				found = c.judge.verdictsOn(slice, one.selectors, one.tolerations)
			}
			one.verdicts[slice] = found
		}
	}
	return changed
}

// publish makes the state.
func (c *Catalogue) publish() {
	before := c.state.Load()
	now := &state{number: before.number + 1, asks: map[string]*knownAsk{}, nodes: map[string]map[asksMask]int64{},
		devices: make(map[deviceID]asksMask, len(c.offers)), some: len(c.offers) > 0, incomplete: c.incomplete}
	reasons := map[string]sets.Set[string]{}
	for name, one := range c.asks {
		now.asks[name] = &knownAsk{ask: one.ask, bit: one.bit, alternatives: one.others}
		reasons[name] = sets.New[string]()
	}
	for _, offered := range c.offers {
		mask := asksMask{}
		for name, one := range c.asks {
			found := one.verdicts[offered.slice]
			if found.failed {
				reasons[name].Insert(unreadableSelectors)
			}
			if found.serves == nil || !found.serves[offered.at] {
				continue
			}
			if c.bins() {
				taken := offered.face.takenBy(one.ask, c.judge)
				if taken.failed {
					reasons[name].Insert(requestOfCapacity)
				}
				if !taken.serves {
					continue
				}
			}
			mask, now.asks[name].matched = mask.with(maskOf(one.bit)), true
			if offered.unlike != "" {
				reasons[name].Insert(offered.unlike)
			}
		}
		if offered.unlike == "" {
			now.devices[offered.id()] = mask
			if now.nodes[offered.node] == nil {
				now.nodes[offered.node] = map[asksMask]int64{}
			}
			now.nodes[offered.node][mask]++
		}
	}
	bits, kinds := c.counted(now)
	if c.bins() {
		now.bins = c.binsOf(now, reasons)
		for name := range now.bins.asks {
			delete(bits, name)
		}
	}
	now.family = familyOf(bits, kinds, before.family)
	for name, one := range now.asks {
		if now.family.refused[name] {
			reasons[name].Insert(devicesOverlap)
		}
		for _, reason := range sets.List(reasons[name]) {
			one.refused = append(one.refused, reason+" "+one.class)
		}
	}
	c.state.Store(now)
}

// counted are the bits of the asks that are counted in devices, and the masks that devices may have on some node.
func (c *Catalogue) counted(now *state) (bits map[string]int, kinds []asksMask) {
	bits = map[string]int{}
	masks := sets.New[asksMask]()
	for _, of := range now.nodes {
		masks.Insert(slices.Collect(maps.Keys(of))...)
	}
	for _, name := range slices.Sorted(maps.Keys(now.asks)) {
		one := now.asks[name]
		if one.extended != "" && !one.matched {
			continue
		}
		bits[name] = one.bit
		if one.extended == "" {
			continue
		}
		now.extended = append(now.extended, one)
		if c.listing.Has(one.extended) {
			// There it counts what the node lists, and no device.
			for mask := range masks.Clone() {
				masks.Insert(mask.without(maskOf(one.bit)))
			}
			masks.Insert(maskOf(one.bit))
		}
	}
	return bits, masks.UnsortedList()
}

// manager is that of the scheduler.
func (c *Catalogue) manager() fwk.SharedDRAManager { return c.sources.Load().manager }

func (c *Catalogue) claim(namespace, name string) *resourceapi.ResourceClaim {
	object, _, _ := c.sources.Load().claims.GetByKey(namespace + "/" + name)
	claim, _ := object.(*resourceapi.ResourceClaim)
	return claim
}

func (c *Catalogue) claimsBy(index, value string) (found []*resourceapi.ResourceClaim) {
	objects, _ := c.sources.Load().claims.ByIndex(index, value) // the index is there
	for _, object := range objects {
		if claim, ok := object.(*resourceapi.ResourceClaim); ok {
			found = append(found, claim)
		}
	}
	return found
}

func (c *Catalogue) claimsOf(pod *v1.Pod) []*resourceapi.ResourceClaim {
	return c.claimsBy(ownerIndex, string(pod.UID))
}

func (c *Catalogue) templateOf(namespace, name string) *resourceapi.ResourceClaimTemplate {
	template, _ := c.sources.Load().templates.ResourceClaimTemplates(namespace).Get(name) // nil if there is none
	return template
}

// ownerLives says whether the claim's owner is a pod that takes room on some node; if not, ends says whether the claim goes
// because it was made for a pod that is gone or about to go.
func (c *Catalogue) ownerLives(claim *resourceapi.ResourceClaim, owner *metav1.OwnerReference) (lives, ends bool) {
	pod, err := c.sources.Load().pods.Pods(claim.Namespace).Get(owner.Name)
	there := err == nil && pod.UID == owner.UID && !podutil.IsPodTerminal(pod)
	lives = there && pod.Spec.NodeName != ""
	return lives, !lives && owner.Kind == "Pod" && (!there || pod.DeletionTimestamp != nil)
}

// digestOn is a digest of what drivers have published for the node; it changes with its devices alone.
func (c *Catalogue) digestOn(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.digests == nil {
		texts := map[string][]string{}
		for _, one := range c.offers {
			text := fmt.Sprint(one.id(), textOf(one.device()))
			if one.consumes != nil {
				text += one.sets.text
			}
			texts[one.node] = append(texts[one.node], text)
		}
		c.digests = map[string]string{}
		for name, of := range texts {
			if !c.bins() { // else they are in the order in which the scheduler tries them
				slices.Sort(of)
			}
			c.digests[name] = digestOf(strings.Join(of, "\n"))
		}
	}
	return c.digests[node]
}
