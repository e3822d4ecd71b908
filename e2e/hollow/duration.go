package hollow

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// forever is how long a container runs that does not end by itself.
const forever = time.Duration(-1)

// duration is how long a container runs. Containers that would be started again when
// they end do not end. Otherwise it is what the annotation says, or the sum of all
// sleeps in the command; a command without any ends at once, and a container without a
// command, whose image has one, does not end.
func duration(object *corev1.Pod, container *corev1.Container, init bool) time.Duration {
	if init {
		if podutil.IsRestartableInitContainer(container) {
			return forever
		}
	} else {
		if object.Spec.RestartPolicy == corev1.RestartPolicyAlways || object.Spec.RestartPolicy == "" {
			return forever
		}
		if d, err := time.ParseDuration(object.Annotations[shown.DurationAnnotation]); err == nil && d >= 0 {
			return d
		}
	}
	words := slices.Concat(container.Command, container.Args)
	if len(words) == 0 {
		if init {
			return 0 // or the pod would never start
		}
		return forever
	}
	return sleeps(strings.Join(words, " "))
}

var sleep = regexp.MustCompile(`\bsleep\s+(infinity|inf|\d+(?:\.\d+)?)([smhd]?)\b`)

var units = map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

func sleeps(command string) time.Duration {
	var sum time.Duration
	for _, match := range sleep.FindAllStringSubmatch(command, -1) {
		number, err := strconv.ParseFloat(match[1], 64)
		if err != nil || match[1][0] == 'i' || number > (1<<31) {
			return forever
		}
		sum += time.Duration(number * float64(units[match[2]]))
	}
	return sum
}
