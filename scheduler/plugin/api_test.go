package plugin

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// fakeAPI is an API server in memory that does what the fake client leaves out:
// it gives out UIDs and resource versions, refuses writes of objects that have
// changed, keeps what is deleted until its finalizers are gone, and fails when told to.
type fakeAPI struct {
	*fake.Clientset
	slow

	mu      sync.Mutex
	version int
	uids    int
	faults  []*fault
	calls   []string      // writes of claims and pods since takeCalls
	watched chan struct{} // closed when claims are watched
}

// fault makes calls fail.
type fault struct {
	verb, resource string // resource may have a subresource: resourceclaims/status
	times          int
	kind           string // conflict, error, or lost: written, and the answer got lost
}

func newFakeAPI() *fakeAPI {
	api := &fakeAPI{Clientset: fake.NewClientset(), watched: make(chan struct{})}
	api.PrependReactor("*", "*", api.react)
	// What changes between an informer's list and its watch is lost here.
	var once sync.Once
	api.PrependWatchReactor("resourceclaims", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := api.Tracker().Watch(action.GetResource(), action.GetNamespace())
		once.Do(func() { close(api.watched) })
		if err != nil {
			return true, nil, err
		}
		return true, newSlowWatch(api, w), nil
	})
	return api
}

func (api *fakeAPI) react(action clienttesting.Action) (bool, runtime.Object, error) {
	verb := action.GetVerb()
	if verb == "list" || verb == "watch" {
		return false, nil, nil
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	resource := action.GetResource().Resource
	if action.GetSubresource() != "" {
		resource += "/" + action.GetSubresource()
	}
	if strings.HasPrefix(resource, "events") {
		return false, nil, nil
	}
	if verb != "get" && (strings.HasPrefix(resource, "resourceclaims") || strings.HasPrefix(resource, "pods")) {
		api.calls = append(api.calls, verb+" "+resource)
	}
	lost := false
	if f := api.due(verb, resource); f != nil {
		switch f.kind {
		case "conflict":
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), "", fmt.Errorf("injected"))
		case "forbidden":
			return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", fmt.Errorf("injected"))
		case "unauthorized":
			return true, nil, apierrors.NewUnauthorized("injected")
		case "error":
			return true, nil, apierrors.NewInternalError(fmt.Errorf("injected"))
		}
		lost = true
	}
	object, err := api.do(action)
	if lost && err == nil {
		return true, nil, apierrors.NewTimeoutError("injected, after the write", 1)
	}
	return true, object, err
}

func (api *fakeAPI) due(verb, resource string) *fault {
	for _, f := range api.faults {
		if f.times > 0 && f.verb == verb && f.resource == resource {
			f.times--
			return f
		}
	}
	return nil
}

func (api *fakeAPI) do(action clienttesting.Action) (runtime.Object, error) {
	tracker, gvr, namespace := api.Tracker(), action.GetResource(), action.GetNamespace()
	_, object, err := true, runtime.Object(nil), error(nil)
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		object = action.GetObject()
		if err := api.admit(object); err != nil {
			return nil, err
		}
		if err := tracker.Create(gvr, object, namespace); err != nil {
			return nil, err
		}
		return object.DeepCopyObject(), nil
	case clienttesting.UpdateActionImpl:
		object = action.GetObject()
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		current, err := tracker.Get(gvr, namespace, accessor.GetName())
		if err != nil {
			return nil, err
		}
		was, err := meta.Accessor(current)
		if err != nil {
			return nil, err
		}
		if was.GetResourceVersion() != accessor.GetResourceVersion() || was.GetUID() != accessor.GetUID() {
			return nil, apierrors.NewConflict(gvr.GroupResource(), accessor.GetName(), fmt.Errorf("object has been modified"))
		}
		accessor.SetDeletionTimestamp(was.GetDeletionTimestamp())
		if was.GetDeletionTimestamp() != nil && len(accessor.GetFinalizers()) == 0 {
			accessor.SetResourceVersion(api.nextVersion())
			api.noteDeletion(accessor.GetUID(), accessor.GetResourceVersion())
			return object, tracker.Delete(gvr, namespace, accessor.GetName())
		}
	case clienttesting.DeleteActionImpl:
		current, err := tracker.Get(gvr, namespace, action.GetName())
		if err != nil {
			return nil, err
		}
		accessor, err := meta.Accessor(current)
		if err != nil {
			return nil, err
		}
		p := action.DeleteOptions.Preconditions
		if p != nil && (p.UID != nil && *p.UID != accessor.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != accessor.GetResourceVersion()) {
			return nil, apierrors.NewConflict(gvr.GroupResource(), action.GetName(), fmt.Errorf("precondition failed"))
		}
		// Without preconditions it is a test's, with what the claim's controller does.
		if len(accessor.GetFinalizers()) == 0 || p == nil {
			api.noteDeletion(accessor.GetUID(), api.nextVersion())
			_, object, err = clienttesting.ObjectReaction(tracker)(action)
			return object, err
		}
		object = current
		now := metav1.Now()
		accessor.SetDeletionTimestamp(&now)
	default:
		if _, object, err = clienttesting.ObjectReaction(tracker)(action); err != nil || action.GetVerb() != "patch" {
			return object, err
		}
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(api.nextVersion())
	if err := tracker.Update(gvr, object, namespace); err != nil {
		return nil, err
	}
	return object.DeepCopyObject(), nil
}

// admit fills in what the server does on creation.
func (api *fakeAPI) admit(object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if accessor.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion is set on creation")
	}
	if accessor.GetUID() == "" {
		api.uids++
		accessor.SetUID(types.UID(fmt.Sprintf("uid-%d", api.uids)))
	}
	if accessor.GetName() == "" {
		accessor.SetName(accessor.GetGenerateName() + strconv.Itoa(api.uids))
	}
	accessor.SetCreationTimestamp(metav1.Time{})
	accessor.SetResourceVersion(api.nextVersion())
	return nil
}

func (api *fakeAPI) nextVersion() string {
	api.version++
	return strconv.Itoa(api.version)
}

func (api *fakeAPI) fail(f *fault) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.faults = append(api.faults, f)
}

func (api *fakeAPI) takeCalls() []string {
	api.mu.Lock()
	defer api.mu.Unlock()
	calls := api.calls
	api.calls = nil
	return calls
}
