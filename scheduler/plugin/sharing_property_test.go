package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/dray-dev/dray/allocator"
)

// TestSharedAnswersAreThoseOfASearch runs random histories: pods of a few kinds come
// and go, slices get and lose devices. Each pod is filtered twice, with the answers of
// all pods before and with an inventory that has none. Statuses and what Reserve
// would take are the same on each node.
//
// DRAY_SHARING_SEED repeats one.
func TestSharedAnswersAreThoseOfASearch(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4}
	if text := os.Getenv("DRAY_SHARING_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &sharing{rand: rand.New(rand.NewPCG(seed, 0)), world: newWorld(t, parseObjects(t, sharingObjects()), "", stableFeatures())}
			for range 50 {
				s.step()
				if t.Failed() {
					t.Fatalf("DRAY_SHARING_SEED=%d repeats it; after\n%s", seed, strings.Join(s.log, "\n"))
				}
			}
			if work := s.plugin.Work(); work.Reused < work.Searches/2 || s.refused == 0 {
				t.Errorf("%d answers were reused, %d searched, %d nodes refused: this tests little", work.Reused, work.Searches, s.refused)
			}
		})
	}
}

const sharingNodes, sharingPods = 6, 12

func sharingObjects() string {
	var text strings.Builder
	text.WriteString("class gpu\n")
	for i := range sharingNodes {
		fmt.Fprintf(&text, "node n%d\nslice n%d devices=gpu-0,gpu-1,gpu-2\n", i, i)
	}
	for i := range sharingPods {
		fmt.Fprintf(&text, "claim c%d gpu*%d\npod p%d claims=c%d\n", i, 1+i%3, i, i)
	}
	return text.String()
}

type sharing struct {
	*world
	rand     *rand.Rand
	reserved [sharingPods]string // the pod's node
	refused  int
	log      []string
}

func (s *sharing) step() {
	if s.rand.IntN(6) == 0 {
		s.changeSlice()
	}
	i := s.rand.IntN(sharingPods)
	name := fmt.Sprintf("p%d", i)
	if node := s.reserved[i]; node != "" {
		s.plugin.Unreserve(s.ctx, s.cycle(name), s.pod(name), node)
		s.reserved[i] = ""
		s.log = append(s.log, "unreserve "+name)
		return
	}
	with, fits := s.outcomes(name)
	inventory := s.plugin.engine.inventory
	s.plugin.engine.inventory = allocator.NewInventory(allocator.WithExplanationSteps(explanationSteps))
	without, _ := s.outcomes(name)
	s.plugin.engine.inventory = inventory
	if diff := cmp.Diff(without, with, cmpopts.IgnoreFields(resourceapi.AllocationResult{}, "AllocationTimestamp")); diff != "" {
		s.t.Errorf("pod %s, without sharing (-) and with (+):\n%s", name, diff)
	}
	if len(fits) > 0 {
		node := fits[s.rand.IntN(len(fits))]
		s.check(s.plugin.Reserve(s.ctx, s.cycle(name), s.pod(name), node).AsError())
		s.reserved[i] = node
		s.log = append(s.log, fmt.Sprintf("reserve %s on %s", name, node))
	}
}

// sharingOutcome is what Filter says of a node, and what Reserve would take.
type sharingOutcome struct {
	Status      string
	Allocations []*resourceapi.AllocationResult
}

func (s *sharing) outcomes(pod string) (outcomes []sharingOutcome, fits []string) {
	if said := s.preFilter(pod); said != "ok" {
		s.t.Fatal(said)
	}
	state, err := readState(s.cycle(pod))
	s.check(err)
	for _, info := range s.nodes {
		status := s.plugin.Filter(s.ctx, s.cycle(pod), s.pod(pod), info)
		outcome := sharingOutcome{Status: tellStatus(status)}
		result, ok, err := s.plugin.result(s.ctx, state, info.Node().Name)
		s.check(err)
		if ok != status.IsSuccess() {
			s.t.Errorf("node %s: %s, and a result: %v", info.Node().Name, outcome.Status, ok)
		}
		if ok {
			outcome.Allocations = result.allocations
			fits = append(fits, info.Node().Name)
		} else {
			s.refused++
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, fits
}

// changeSlice gives a node one to four devices.
func (s *sharing) changeSlice() {
	list, err := s.api.ResourceV1().ResourceSlices().List(s.ctx, metav1.ListOptions{})
	s.check(err)
	slice := list.Items[s.rand.IntN(len(list.Items))].DeepCopy()
	devices := make([]resourceapi.Device, 1+s.rand.IntN(4))
	for i := range devices {
		devices[i] = *slice.Spec.Devices[0].DeepCopy()
		devices[i].Name = fmt.Sprintf("gpu-%d", i)
	}
	slice.Spec.Devices = devices
	was := slice.ResourceVersion
	slice, err = s.api.ResourceV1().ResourceSlices().Update(s.ctx, slice, metav1.UpdateOptions{})
	s.check(err)
	if slice.ResourceVersion == was {
		s.t.Fatal("a slice changed and has the same version")
	}
	s.check(wait.PollUntilContextTimeout(s.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		known, err := s.plugin.cluster.slices()
		return slices.ContainsFunc(known, func(k *resourceapi.ResourceSlice) bool {
			return k.Name == slice.Name && k.ResourceVersion == slice.ResourceVersion
		}), err
	}))
	s.log = append(s.log, fmt.Sprintf("slice %s has %d devices", slice.Name, len(devices)))
}
