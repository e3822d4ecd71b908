package suite

import (
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everything is a list without conditions.
var everything metav1.ListOptions

func names(devices []resourceapi.Device) []string {
	var all []string
	for i := range devices {
		all = append(all, devices[i].Name)
	}
	return all
}

// needHandsOf is needHands in the middle of a promise.
func needHandsOf(s *scene) hands {
	s.Helper()
	if cluster.hands == nil {
		s.Skip("it takes hands in the cluster, which there are on those that the suite makes")
	}
	return cluster.hands
}
