package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Report is what a run has shown.
type Report struct {
	Kills, Calls  int
	Faults        map[string]int
	Versions      int // of claims, each of which was looked at
	Allocations   int
	Placed, Pods  int
	Hopeless      int // pods that were removed because a claim was deleted under them
	Twice, Leaked []string
	Wrong         []string // pods bound without devices, allocations that changed
	NotPlaced     []string
}

// String is the one line that says it all.
func (r *Report) String() string {
	return fmt.Sprintf("%d kills, %d devices twice, %d leaked, %d of %d placed", r.Kills, len(r.Twice), len(r.Leaked), r.Placed, r.Pods)
}

// problem is what a report must not have.
func (r *Report) problem() error {
	var lines []string
	for _, list := range []struct {
		title string
		items []string
	}{
		{"devices given out twice", r.Twice}, {"leaked", r.Leaked}, {"wrong", r.Wrong}, {"not placed", r.NotPlaced},
	} {
		if len(list.items) > 0 {
			lines = append(lines, list.title+":\n  "+strings.Join(list.items, "\n  "))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// settle ends the pods as they are placed until none is left to place, then removes
// all of them, and then has every device given out once more.
func (r *run) settle(ctx context.Context, report *Report) error {
	err := r.actor.restore(ctx)
	if err != nil {
		return fmt.Errorf("undo the disturbances: %w", err)
	}
	report.Hopeless, err = r.finish(ctx)
	if err != nil {
		return err
	}
	report.Placed, report.Pods = r.keeper.counts()
	report.NotPlaced = r.explain(ctx, r.keeper.names(pending))
	r.journal.say("%d of %d pods were placed", report.Placed, report.Pods)
	if report.Leaked, err = r.clear(ctx); err != nil {
		return err
	}
	full, err := r.fill(ctx)
	if err != nil {
		return err
	}
	report.Leaked = append(report.Leaked, full...)
	left, err := r.clear(ctx)
	report.Leaked = append(report.Leaked, left...)
	return err
}

// finish ends the pods that run until none is left, and removes those that are
// hopeless.
func (r *run) finish(ctx context.Context) (hopeless int, err error) {
	fewest, since := -1, time.Now()
	err = r.until(ctx, func() (int, bool, error) {
		if err := r.actor.recreate(ctx); err != nil {
			return 0, false, err
		}
		for _, name := range r.keeper.names(running) {
			if err := r.keeper.end(ctx, name); err != nil {
				return 0, false, err
			}
		}
		left := len(r.keeper.names(alive))
		if fewest < 0 || left < fewest {
			fewest, since = left, time.Now()
		}
		if time.Since(since) > hopelessAfter {
			since = time.Now()
			names, err := r.actor.hopeless(ctx)
			if err != nil {
				return 0, false, err
			}
			for _, name := range names {
				if err := r.keeper.remove(ctx, name); err != nil {
					return 0, false, err
				}
			}
			hopeless += len(names)
		}
		return left, left == 0, nil
	})
	return hopeless, err
}

// hopelessAfter is how long no pod must have been placed before those are looked for
// that cannot be: controllers get time to make claims anew.
const hopelessAfter = 3 * time.Second

// until repeats something until it is done, or for as long as what is left becomes
// less now and then.
func (r *run) until(ctx context.Context, do func() (left int, done bool, err error)) error {
	best, last := -1, time.Now()
	for {
		moved, _, broken := r.keeper.state()
		if broken != nil {
			return broken
		}
		left, done, err := do()
		if done || err != nil {
			return err
		}
		if best < 0 || left < best {
			best, last = left, time.Now()
		}
		if time.Since(last) > r.options.Patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-moved:
		case <-time.After(250 * time.Millisecond): // claims change without pods
		}
	}
}

// clear removes all pods and returns what is then still held, or still there and
// should not be.
func (r *run) clear(ctx context.Context) (leaked []string, err error) {
	for _, name := range r.keeper.names(present) {
		if err := r.keeper.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	err = r.until(ctx, func() (int, bool, error) {
		leaked = r.witness.held()
		left, err := r.leftBehind(ctx)
		leaked = append(leaked, left...)
		gone := len(r.keeper.names(present)) == 0
		return len(leaked), gone && len(leaked) == 0, err
	})
	return leaked, err
}

// leftBehind are claims that were made for pods, which are all gone.
func (r *run) leftBehind(ctx context.Context) ([]string, error) {
	list, err := r.actor.client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var left []string
	for _, claim := range list.Items {
		if len(claim.OwnerReferences) > 0 {
			left = append(left, fmt.Sprintf("claim %s of pod %s is left behind", claim.Name, claim.OwnerReferences[0].Name))
		}
	}
	return left, nil
}

// fill asks for every device there is: all of a node at once, all of the fabric at
// once. A device that the scheduler believes to be in use shows as a pod that is not
// placed.
func (r *run) fill(ctx context.Context) (missing []string, err error) {
	ask := func(name string, requests ...resourceapi.DeviceRequest) error {
		claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: claimOf(requests...)}
		if _, err := r.actor.client.ResourceV1().ResourceClaims(namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			return err
		}
		p := pod(name)
		withClaim(p, name)
		return r.actor.create(ctx, p)
	}
	for i := range r.options.Nodes {
		if err := ask(fmt.Sprintf("all-%d", i), exactly(gpuClass, int64(r.options.DevicesPerNode), ""), partOf(partUnits), shareOf(nicUnits)); err != nil {
			return nil, err
		}
	}
	if err := ask("all-fabric", exactly(fabricClass, int64(r.options.FabricDevices), "")); err != nil {
		return nil, err
	}
	err = r.until(ctx, func() (int, bool, error) {
		left := len(r.keeper.names(pending)) + len(r.keeper.names(func(p *podRecord) bool { return p.bound && !p.checked && !p.gone }))
		return left, left == 0, nil
	})
	for _, text := range r.explain(ctx, r.keeper.names(pending)) {
		missing = append(missing, "not every device can be given out again: "+text)
	}
	r.journal.say("every device was asked for again: %d of %d pods were placed", r.options.Nodes+1-len(missing), r.options.Nodes+1)
	return missing, err
}

// explain adds what the scheduler told the pods.
func (r *run) explain(ctx context.Context, names []string) []string {
	var texts []string
	for _, name := range names {
		text := "pod " + name
		p, err := r.actor.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			text += ": " + err.Error()
		} else if i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }); i >= 0 {
			text += ": " + p.Status.Conditions[i].Message
		} else {
			text += ": the scheduler has not looked at it"
		}
		texts = append(texts, text)
	}
	return texts
}

// count completes the report.
func (r *run) count(report *Report) {
	report.Kills = r.kills
	var changed []string
	report.Twice, changed = r.witness.wrong()
	_, wrong, _ := r.keeper.state()
	report.Wrong = append(changed, wrong...)
	r.proxy.mu.Lock()
	report.Calls, report.Faults = r.proxy.calls, r.proxy.injected
	r.proxy.mu.Unlock()
	r.witness.mu.Lock()
	report.Versions, report.Allocations = r.witness.versions, r.witness.given
	r.witness.mu.Unlock()
}
