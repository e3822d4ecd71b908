package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// device is a device of the cluster, or one share of it.
type device struct{ driver, pool, name string }

func (d device) String() string { return d.driver + "/" + d.pool + "/" + d.name }

// witness sees every version of every ResourceClaim in the order of their
// resourceVersions, which is that of a watch, so that what it has after an event is
// what the API server had at that version.
type witness struct {
	client  kubernetes.Interface
	journal *journal

	mu       sync.Mutex
	advanced *sync.Cond // after each event
	claims   map[types.UID]*seen
	owner    map[device]types.UID
	drawn    map[amount]int64 // by all claims together
	seenMark string           // value of the marker claim
	versions int              // of claims that were looked at
	given    int              // allocations that were made
	twice    map[string]bool
	changed  []string
	broken   error // of the watch, after which nothing is known
}

// seen is a claim as of its last version.
type seen struct {
	name    string
	version string
	devices []device
	draws   map[amount]int64
	// reserved is for how many it is.
	reserved int
}

// markerName is a claim that nobody uses, by which the witness knows how far it is.
const (
	markerName = "marker"
	markerKey  = "chaos.dray.dev/mark"
)

func startWitness(ctx context.Context, client kubernetes.Interface, journal *journal) (*witness, error) {
	w := &witness{client: client, journal: journal, claims: map[types.UID]*seen{}, owner: map[device]types.UID{}, drawn: map[amount]int64{}, twice: map[string]bool{}}
	w.advanced = sync.NewCond(&w.mu)
	marker := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: markerName}, Spec: claimOf(exactly(gpuClass, 1, ""))}
	if _, err := client.ResourceV1().ResourceClaims(namespace).Create(ctx, marker, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	list, err := client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		w.see(&list.Items[i], false)
	}
	day := int64(24 * 60 * 60)
	events, err := client.ResourceV1().ResourceClaims("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &day})
	if err != nil {
		return nil, err
	}
	go w.follow(ctx, events)
	return w, nil
}

func (w *witness) follow(ctx context.Context, events watch.Interface) {
	defer events.Stop()
	for event := range events.ResultChan() {
		claim, ok := event.Object.(*resourceapi.ResourceClaim)
		if !ok {
			w.end(fmt.Errorf("the watch of all claims says %v", event.Object))
			return
		}
		w.see(claim, event.Type == watch.Deleted)
	}
	if ctx.Err() == nil {
		w.end(fmt.Errorf("the watch of all claims ended"))
	}
}

func (w *witness) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = err
	w.advanced.Broadcast()
}

// see takes in one version of a claim.
func (w *witness) see(claim *resourceapi.ResourceClaim, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.advanced.Broadcast()
	w.versions++
	if claim.Name == markerName {
		w.seenMark = claim.Annotations[markerKey]
	}
	now := &seen{name: claim.Name, version: claim.ResourceVersion, reserved: len(claim.Status.ReservedFor), devices: devicesOf(claim), draws: draws(claim)}
	before := w.claims[claim.UID]
	if before == nil {
		before = &seen{}
	}
	for _, d := range before.devices {
		if w.owner[d] == claim.UID {
			delete(w.owner, d)
		}
	}
	for of, units := range before.draws {
		w.drawn[of] -= units
	}
	if deleted {
		delete(w.claims, claim.UID)
		w.journal.note("claim %s (%s) version %s: deleted", claim.Name, claim.UID, claim.ResourceVersion)
		return
	}
	w.claims[claim.UID] = now
	if !slices.Equal(before.devices, now.devices) || before.reserved != now.reserved {
		w.journal.note("claim %s (%s) version %s: %v, reserved for %d", claim.Name, claim.UID, claim.ResourceVersion, now.devices, now.reserved)
	}
	if len(before.devices) == 0 && len(now.devices) > 0 {
		w.given++
	}
	if len(before.devices) > 0 && len(now.devices) > 0 && !slices.Equal(before.devices, now.devices) {
		w.changed = append(w.changed, fmt.Sprintf("claim %s had %v at version %s and %v at %s", now.name, before.devices, before.version, now.devices, now.version))
	}
	for _, d := range now.devices {
		if other, taken := w.owner[d]; taken {
			w.twice[fmt.Sprintf("device %s is claim %s's since version %s or before, and %s's at version %s",
				d, w.claims[other].name, w.claims[other].version, now.name, now.version)] = true
			continue
		}
		w.owner[d] = claim.UID
	}
	for of, units := range now.draws {
		w.drawn[of] += units
		if w.drawn[of] > of.limit() {
			w.twice[fmt.Sprintf("with claim %s's version %s, claims have %d of the %d units of %s in pool %s",
				now.name, now.version, w.drawn[of], of.limit(), of.driver, of.pool)] = true
		}
	}
}

func devicesOf(claim *resourceapi.ResourceClaim) []device {
	if claim.Status.Allocation == nil {
		return nil
	}
	var devices []device
	for _, result := range claim.Status.Allocation.Devices.Results {
		devices = append(devices, device{result.Driver, result.Pool, result.Device + share(result.ShareID)})
	}
	return devices
}

// catchUp returns when the witness has seen everything up to now.
func (w *witness) catchUp(ctx context.Context, mark string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, markerKey, mark)
	if _, err := w.client.ResourceV1().ResourceClaims(namespace).Patch(ctx, markerName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("mark the claims' history: %w", err)
	}
	stop := context.AfterFunc(ctx, w.advanced.Broadcast)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.seenMark != mark && w.broken == nil && ctx.Err() == nil {
		w.advanced.Wait()
	}
	if w.broken != nil {
		return w.broken
	}
	return ctx.Err()
}

// held lists claims that have devices or are reserved, in order.
func (w *witness) held() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var held []string
	for _, claim := range w.claims {
		if len(claim.devices) > 0 || claim.reserved > 0 {
			held = append(held, fmt.Sprintf("claim %s has %v and is reserved for %d at version %s", claim.name, claim.devices, claim.reserved, claim.version))
		}
	}
	slices.Sort(held)
	return held
}

// wrong lists what must never be, in order.
func (w *witness) wrong() (twice, changed []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for text := range w.twice {
		twice = append(twice, text)
	}
	slices.SortFunc(twice, strings.Compare)
	return twice, slices.Clone(w.changed)
}
