package plugin

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
)

const regrouped = `node a
class gpu
claim team gpu on=a:gpu-0
claim two gpu on=a:gpu-1 for=p
group g claims=team,two
pod p claims=team group=g
`

func TestAReservationForAGroupThatIsGoneIsNotThePods(t *testing.T) {
	w := newWorld(t, parseObjects(t, regrouped), "", stableFeatures())
	group, err := w.plugin.handle.SnapshotSharedLister().PodGroups().Get(testNamespace, "g")
	w.check(err)
	w.changeClaim("team", func(claim *resourceapi.ResourceClaim) {
		claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{
			{APIGroup: schedulingapi.GroupName, Resource: "podgroups", Name: "g", UID: "gone"}}
	})
	if said := w.schedule("p"); said != "bound to a\n" {
		t.Fatal(said)
	}
	if claim := w.listClaims()[0]; !consumes(&claim, resourceapi.ResourceClaimConsumerReference{UID: group.UID}) {
		t.Errorf("claim %s is reserved for %v", claim.Name, claim.Status.ReservedFor)
	}
}

func TestAGroupIsTakenOnlyOutOfClaimsThatAreReservedForIt(t *testing.T) {
	w := newWorld(t, parseObjects(t, regrouped), "", stableFeatures())
	group, err := w.plugin.handle.SnapshotSharedLister().PodGroups().Get(testNamespace, "g")
	w.check(err)
	status, err := w.plugin.unreserveForGroup(w.ctx, group)
	if calls := w.api.takeCalls(); status != nil || err != nil || len(calls) > 0 {
		t.Errorf("%s, %v, %v: no claim is reserved for the group", tellStatus(status), err, calls)
	}
}
