package resources

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Catalogue knows what devices nodes have and who holds them. All profiles of a process share one. A nil catalogue knows
// of no devices.
type Catalogue struct{}

// NewCatalogue returns the catalogue of a process, which knows of no devices until it is connected.
func NewCatalogue() *Catalogue { return &Catalogue{} }

// Connect has the catalogue read the objects that the handle's informers show. It must be called before these are started,
// and may be called for each profile.
func (c *Catalogue) Connect(fwk.Handle) error { return nil }

// Refresh reads the devices as they are now.
func (c *Catalogue) Refresh() {}

// Some says whether there are any devices, or claims of them.
func (c *Catalogue) Some() bool { return false }

// PodDevices is what a pod asks for in devices.
type PodDevices struct {
	// Asks are of the form "<ask>×<count>", in order.
	Asks []string
	// Refused are the reasons, in order, for which no plan can give the pod what it asks for.
	Refused []string
}

// Devices is what the pod asks for in devices.
func (b *Book) Devices(*v1.Pod) PodDevices { return PodDevices{} }

// DevicesRefused are the reasons, in order, for which no plan can give the devices that match the asks as they are now.
func (b *Book) DevicesRefused(asks []string) []string { return nil }

// HeldBeside are the devices of the node that the pods on it do not account for by what they ask: a claim holds them that
// is none of theirs, or they hold others than they need.
func (b *Book) HeldBeside(node string, pods []*v1.Pod) Vector { return Vector{} }

// ClaimsOf are the claims that were made for the pod.
func (b *Book) ClaimsOf(*v1.Pod) []*resourceapi.ResourceClaim { return nil }

// TemplateOf is the template of that name, or nil.
func (b *Book) TemplateOf(namespace, name string) *resourceapi.ResourceClaimTemplate { return nil }
