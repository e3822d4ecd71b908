package examples

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/dray-dev/dray/e2e/console"
)

// Changes knows when something has changed that examples ask about, so that a question
// is asked again when its answer can be another one, and not before.
type Changes struct {
	mu sync.Mutex
	// counts of changes, by namespace; those of slices are under "".
	counts map[string]int
	// next is closed at the next one.
	next chan struct{}
}

// FollowChanges watches pods, claims and slices until the context ends.
func FollowChanges(ctx context.Context, config *rest.Config) (*Changes, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := newChanges()
	informers := metadatainformer.NewSharedInformerFactory(client, 0)
	note := func(object any) {
		if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = deleted.Obj
		}
		if object, ok := object.(metav1.Object); ok {
			c.note(object.GetNamespace())
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, object any) { note(object) }, DeleteFunc: note}
	resources := resourceapi.SchemeGroupVersion.WithResource
	for _, of := range []cache.SharedIndexInformer{
		informers.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer(),
		informers.ForResource(resources("resourceclaims")).Informer(),
		informers.ForResource(resources("resourceslices")).Informer(),
	} {
		if _, err := of.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	return c, ctx.Err()
}

func newChanges() *Changes { return &Changes{counts: map[string]int{}, next: make(chan struct{})} }

func (c *Changes) note(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[namespace]++
	close(c.next)
	c.next = make(chan struct{})
}

// seen is how often something has changed, and what is closed at the next change of
// anything.
func (c *Changes) seen(namespace string) (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[namespace], c.next
}

// quiet is how long nothing must have changed before a question is asked again: a pod
// that starts changes several times in a row.
const quiet = 100 * time.Millisecond

var namespaceFlag = regexp.MustCompile(` -n (\S+)`)

// Watch is for [console.Shell]: it waits for a change of what a command asks about.
func (c *Changes) Watch(step console.Step) func(context.Context) {
	of := ""
	if found := namespaceFlag.FindStringSubmatch(step.Command); found != nil {
		of = found[1]
	} else if !strings.HasPrefix(step.Command, "kubectl get resourceslices ") {
		return func(ctx context.Context) { <-ctx.Done() } // of which nothing is known here
	}
	before, _ := c.seen(of)
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			now, next := c.seen(of)
			var still <-chan time.Time
			if now != before {
				still = time.After(quiet)
			}
			before = now
			for changed := false; !changed; {
				select {
				case <-ctx.Done():
					return
				case <-still:
					return
				case <-next:
					var count int
					count, next = c.seen(of)
					changed = count != before
				}
			}
		}
	}
}
