package allocatortest

import (
	"fmt"
	"hash/fnv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Stamp gives every object a UID that follows from its name and a resource
// version that follows from its content. So two objects with equal UID and
// resource version are equal, across all scenarios of a run, and a cache that
// trusts the pair may be kept from one scenario to the next.
func (s *Scenario) Stamp() {
	for _, o := range s.Nodes {
		stamp("node", &o.ObjectMeta, o.Marshal)
	}
	for _, o := range s.Slices {
		stamp("slice", &o.ObjectMeta, o.Marshal)
	}
	for _, o := range s.Classes {
		stamp("class", &o.ObjectMeta, o.Marshal)
	}
	for _, o := range s.Allocated {
		stamp("claim", &o.ObjectMeta, o.Marshal)
	}
	for _, o := range s.Claims {
		stamp("claim", &o.ObjectMeta, o.Marshal)
	}
}

// stamp hashes the serialised object, whose maps are in sorted order.
func stamp(kind string, meta *metav1.ObjectMeta, marshal func() ([]byte, error)) {
	meta.ResourceVersion = ""
	meta.UID = types.UID(kind + "-" + meta.Name)
	content, err := marshal()
	if err != nil {
		panic(fmt.Sprintf("serialise %s %s: %v", kind, meta.Name, err))
	}
	hash := fnv.New64a()
	hash.Write(content)
	meta.ResourceVersion = fmt.Sprint(hash.Sum64())
}
