package hollow

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

func TestAContainerRunsAsLongAsItsCommandSays(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		policy    corev1.RestartPolicy
		container corev1.Container
		run       string // the annotation
		init      bool
		want      time.Duration
	}{
		"a sleep":                        {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sleep", "5"}}, "", false, 5 * time.Second},
		"a sleep with a unit":            {corev1.RestartPolicyOnFailure, corev1.Container{Command: []string{"sleep", "1.5m"}}, "", false, 90 * time.Second},
		"arguments":                      {corev1.RestartPolicyNever, corev1.Container{Args: []string{"sleep", "2"}}, "", false, 2 * time.Second},
		"sleeps in a shell":              {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sh", "-c", "sleep 1 && echo x; sleep 2"}}, "", false, 3 * time.Second},
		"a sleep without end":            {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sleep", "infinity"}}, "", false, forever},
		"no sleep":                       {corev1.RestartPolicyNever, corev1.Container{Command: []string{"nvidia-smi", "-L"}}, "", false, 0},
		"no command":                     {corev1.RestartPolicyNever, corev1.Container{}, "", false, forever},
		"the annotation":                 {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sleep", "5"}}, "200ms", false, 200 * time.Millisecond},
		"an annotation that is none":     {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sleep", "5"}}, "soon", false, 5 * time.Second},
		"one that would be restarted":    {corev1.RestartPolicyAlways, corev1.Container{Command: []string{"sleep", "5"}}, "1s", false, forever},
		"the policy that is the default": {"", corev1.Container{Command: []string{"sleep", "5"}}, "", false, forever},
		"an init container":              {corev1.RestartPolicyAlways, corev1.Container{}, "1h", true, 0},
		"one that sleeps":                {corev1.RestartPolicyAlways, corev1.Container{Command: []string{"sleep", "1"}}, "", true, time.Second},
		"a sidecar":                      {corev1.RestartPolicyAlways, corev1.Container{Command: []string{"sleep", "1"}, RestartPolicy: &always}, "", true, forever},
		"more than a year":               {corev1.RestartPolicyNever, corev1.Container{Command: []string{"sleep", "99999999999"}}, "", false, forever},
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: test.policy}}
			if test.run != "" {
				object.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{shown.DurationAnnotation: test.run}}
			}
			if got := duration(object, &test.container, test.init); got != test.want {
				t.Errorf("it runs %s and not %s", got, test.want)
			}
		})
	}
}
