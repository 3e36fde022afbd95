package resources

import (
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// allocating is what is common to all catalogues of a test: to compile a selector takes longer than to try a fleet.
var allocating = newJudge()

// Allocating are the features and the compiled selectors of the scheduler's allocator.
func Allocating() (structured.Features, *cel.Cache) {
	return allocating.features, allocating.expressions
}

// StoredObjects are what a catalogue reads without an API server.
type StoredObjects struct{ Claims, Templates, Pods, Nodes cache.Indexer }

// NewStoredObjects are none.
func NewStoredObjects() StoredObjects {
	made := func(indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	}
	namespaced := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return StoredObjects{Claims: made(cache.Indexers{nodeIndex: indexOf(nodeOf), ownerIndex: indexOf(ownerOf)}),
		Templates: made(namespaced), Pods: made(namespaced), Nodes: made(cache.Indexers{})}
}

// NewBookOf is a book of these objects that counts devices that pods share or that overlap.
func NewBookOf(manager fwk.SharedDRAManager, stored StoredObjects) *Book {
	catalogue := NewCatalogue()
	catalogue.judge = allocating
	catalogue.sources.Store(&sources{manager: manager, claims: stored.Claims, pods: corelisters.NewPodLister(stored.Pods),
		templates: resourcelisters.NewResourceClaimTemplateLister(stored.Templates), nodes: corelisters.NewNodeLister(stored.Nodes)})
	return &Book{devices: catalogue}
}
