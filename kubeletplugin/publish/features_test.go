package publish_test

import (
	"errors"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// The gates of partitions, shared capacity, taints, binding conditions and extended
// resources are beta and on since 1.36, and alpha and off before.
func TestDefaultFeaturesFollowTheMinor(t *testing.T) {
	for minor := publish.OldestMinor; minor <= publish.NewestMinor; minor++ {
		features := publish.DefaultFeaturesOf(minor)
		_, err := publish.New(publish.Options{Minor: minor, Features: features, MIG: publish.MIGDynamic})
		if kept := minor >= 36; kept && err != nil || !kept && !errors.Is(err, publish.ErrNotKept) {
			t.Errorf("1.%d with %+v: error %v", minor, features, err)
		}
	}
	for minor := publish.OldestMinor; minor <= publish.NewestMinor; minor++ {
		_, err := publish.DeviceClasses(publish.Options{
			Minor: minor, Features: publish.DefaultFeaturesOf(minor), ExtendedResources: map[string]string{"gpu.dray.dev": "example.com/gpu"},
		})
		if kept := minor >= 36; kept && err != nil || !kept && !errors.Is(err, publish.ErrNotKept) {
			t.Errorf("extended resources of 1.%d: error %v", minor, err)
		}
	}
	if publish.DefaultFeaturesOf(publish.NewestMinor) != publish.DefaultFeatures() {
		t.Error("the newest minor has other features than the default ones")
	}
}
