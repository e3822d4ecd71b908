package scheduling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// outcome is what a plugin says, to be compared with another one's.
type outcome struct {
	finished bool // false if it was given up
	// answers are, for Plugin, one for each node: "" if it was not reached, refused,
	// or the allocation that a pod gets there. For Pods they are one for each pod: the
	// node and the allocation.
	answers []string
	// fits are the nodes that would do, by index; for Pods the node of each pod.
	fits []int
}

const refused = "does not fit"

// textOf is the whole allocation but for its time.
func textOf(allocation *resourceapi.AllocationResult) (string, error) {
	if allocation == nil {
		return "no allocation", nil
	}
	timeless := *allocation
	timeless.AllocationTimestamp = nil
	text, err := json.Marshal(timeless)
	return string(text), err
}

// errNothingInCommon is for two plugins of which one was given up before it had an
// answer about any node that the other has one about.
var errNothingInCommon = errors.New("no answer in common within the limit")

// agree is an error if two plugins do not say the same.
func agree(a, b *racer) error {
	for i := range min(len(a.want), len(b.want)) {
		if err := same(a.Name, b.Name, a.want[i], b.want[i]); err != nil {
			return err
		}
	}
	return nil
}

// same compares two outcomes. Where one was given up, the answers that both have
// are compared, and there has to be one.
func same(a, b string, x, y *outcome) error {
	if len(x.answers) != len(y.answers) {
		return fmt.Errorf("%s gives %d answers, %s %d", a, len(x.answers), b, len(y.answers))
	}
	compared := 0
	for i := range x.answers {
		switch {
		case x.answers[i] == "" && !x.finished || y.answers[i] == "" && !y.finished:
		case x.answers[i] != y.answers[i]:
			return fmt.Errorf("%s and %s answer differently about number %d: %q, and %q", a, b, i, x.answers[i], y.answers[i])
		default:
			compared++
		}
	}
	if compared == 0 {
		return fmt.Errorf("%s and %s: %w", a, b, errNothingInCommon)
	}
	return nil
}

// alone asks one that was given up about the first node alone, within the limit again:
// of the sixteen that are asked at once none may have ended. It says whether there is
// an answer, which is in r.want then.
func (r *racer) alone(ctx context.Context, limit time.Duration) (bool, error) {
	template := len(r.want) - 1
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o, err := r.answer(limited, r.pods[template], r.asked[:1])
	if err != nil || !o.finished {
		return false, err
	}
	r.want[template].answers[0], r.want[template].fits = o.answers[0], o.fits
	return true, nil
}

// answer asks about every one of the nodes and finds out what a pod would get on each
// that would do.
func (w *world) answer(ctx context.Context, pod *corev1.Pod, asked []fwk.NodeInfo) (*outcome, error) {
	c := w.newCycle(pod)
	o := &outcome{finished: true, answers: make([]string, len(asked))}
	ask, err := c.preFilter(ctx)
	if err != nil {
		return nil, err
	}
	if !ask {
		return nil, errors.New("the pod was refused before any node was asked: the case is none")
	}
	err = c.filter(ctx, asked, 0, len(asked))
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	o.finished = err == nil
	ctx = context.WithoutCancel(ctx)
	for i, node := range asked {
		switch {
		case !c.reached[i]:
		case !c.fits(i):
			o.answers[i] = refused
		default:
			o.fits = append(o.fits, i)
			if o.answers[i], err = c.allocationOn(ctx, node.Node().Name); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// allocationOn reserves, looks and gives back.
func (c *cycle) allocationOn(ctx context.Context, node string) (string, error) {
	if err := c.reserve(ctx, node); err != nil {
		return "", err
	}
	defer c.unreserve(ctx, node)
	allocation, err := c.inFlight()
	if err != nil {
		return "", err
	}
	return textOf(allocation)
}

// bound is what the pods got that were placed on those nodes.
func (w *world) bound(nodes []int) (*outcome, error) {
	o := &outcome{finished: true, fits: nodes}
	for i, pod := range w.pods {
		claim, err := w.claimOf(pod)
		if err != nil {
			return nil, err
		}
		text, err := textOf(claim.Status.Allocation)
		if err != nil {
			return nil, err
		}
		o.answers = append(o.answers, w.nodes[nodes[i]].Name+" "+text)
	}
	return o, nil
}
