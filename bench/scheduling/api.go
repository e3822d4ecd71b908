package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/tools/cache"
)

// api holds the claims of one world. It does what a plugin may count on: resource
// versions that grow, conflicts, and watch events in order. Objects are copied on
// the way in and out, as a real client would by encoding them; what is stored is
// never modified.
type api struct {
	mu      sync.Mutex
	version int
	claims  map[types.NamespacedName]*resourceapi.ResourceClaim
	watches []*watch.FakeWatcher
}

// backlog is how many events a watch holds before a write has to wait.
const backlog = 10_000

var claimResource = resourceapi.Resource("resourceclaims")

func newAPI(claims []*resourceapi.ResourceClaim) *api {
	a := &api{version: 1, claims: make(map[types.NamespacedName]*resourceapi.ResourceClaim, len(claims))}
	for _, claim := range claims {
		a.claims[keyOf(claim)] = claim
	}
	return a
}

func keyOf(claim *resourceapi.ResourceClaim) types.NamespacedName {
	return types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
}

func (a *api) get(key types.NamespacedName) (*resourceapi.ResourceClaim, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	claim := a.claims[key]
	if claim == nil {
		return nil, apierrors.NewNotFound(claimResource, key.Name)
	}
	return claim, nil
}

// update stores what change makes of the claim, unless it is not any more the one
// that the caller knows.
func (a *api) update(known *resourceapi.ResourceClaim, change func(to *resourceapi.ResourceClaim)) (*resourceapi.ResourceClaim, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	current := a.claims[keyOf(known)]
	switch {
	case current == nil:
		return nil, apierrors.NewNotFound(claimResource, known.Name)
	case current.UID != known.UID || current.ResourceVersion != known.ResourceVersion:
		return nil, apierrors.NewConflict(claimResource, known.Name, errors.New("the claim has been modified"))
	}
	updated := *current
	change(&updated)
	a.store(&updated)
	return &updated, nil
}

// store needs the lock.
func (a *api) store(claim *resourceapi.ResourceClaim) {
	a.version++
	claim.ResourceVersion = strconv.Itoa(a.version)
	a.claims[keyOf(claim)] = claim
	for _, w := range a.watches {
		w.Modify(claim)
	}
}

// reset gives claims back the content that they began with, and returns the
// version after that.
func (a *api) reset(claims []*resourceapi.ResourceClaim) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, claim := range claims {
		fresh := *claim
		a.store(&fresh)
	}
	return a.version
}

// latest is the version of the last write.
func (a *api) latest() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

func (a *api) list(_ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	for _, claim := range a.claims {
		list.Items = append(list.Items, runtime.RawExtension{Object: claim})
	}
	return list, nil
}

// watch begins with what is written from now on: the informer lists and watches
// before anything is written.
func (a *api) watch(_ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := watch.NewFakeWithChanSize(backlog, false)
	a.watches = append(a.watches, w)
	return w, nil
}

// informer is one of objects that list and watch give.
func informer(example runtime.Object, list cache.ListWithContextFunc, watch cache.WatchFuncWithContext) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(listOnly{&cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: watch}}, example, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// listOnly says that a watch does not begin with a list.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

// fixed is an informer of objects that never change.
func fixed[T runtime.Object](example T, objects []T) cache.SharedIndexInformer {
	return informer(example, func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: firstVersion}}
		for _, object := range objects {
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
		return list, nil
	}, func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil })
}

// client is one whose claims are in an api. Everything else is the embedded
// client's.
type client struct {
	kubernetes.Interface
	api *api
}

// ResourceV1 implements kubernetes.Interface.
func (c client) ResourceV1() resourceclient.ResourceV1Interface {
	return resourceClient{c.Interface.ResourceV1(), c.api}
}

type resourceClient struct {
	resourceclient.ResourceV1Interface
	api *api
}

// ResourceClaims implements resourceclient.ResourceV1Interface.
func (c resourceClient) ResourceClaims(namespace string) resourceclient.ResourceClaimInterface {
	return claimClient{nil, c.api, namespace}
}

// claimClient implements what the plugins call; anything else panics.
type claimClient struct {
	resourceclient.ResourceClaimInterface
	api       *api
	namespace string
}

func (c claimClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*resourceapi.ResourceClaim, error) {
	claim, err := c.api.get(types.NamespacedName{Namespace: c.namespace, Name: name})
	if err != nil {
		return nil, err
	}
	return claim.DeepCopy(), nil
}

func (c claimClient) Update(_ context.Context, claim *resourceapi.ResourceClaim, _ metav1.UpdateOptions) (*resourceapi.ResourceClaim, error) {
	return c.write(claim, func(to *resourceapi.ResourceClaim) {
		status := to.Status
		claim.DeepCopyInto(to)
		to.Status = status
	})
}

func (c claimClient) UpdateStatus(_ context.Context, claim *resourceapi.ResourceClaim, _ metav1.UpdateOptions) (*resourceapi.ResourceClaim, error) {
	return c.write(claim, func(to *resourceapi.ResourceClaim) { claim.Status.DeepCopyInto(&to.Status) })
}

func (c claimClient) write(claim *resourceapi.ResourceClaim, change func(to *resourceapi.ResourceClaim)) (*resourceapi.ResourceClaim, error) {
	updated, err := c.api.update(claim, change)
	if err != nil {
		return nil, err
	}
	return updated.DeepCopy(), nil
}

// Patch is what a plugin calls to take back what it has written. Nothing fails
// here that would make it do so.
func (c claimClient) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*resourceapi.ResourceClaim, error) {
	return nil, fmt.Errorf("patch of claim %s that no case expects: %s", name, data)
}
