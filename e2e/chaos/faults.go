package chaos

import (
	"math/rand/v2"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is something that happens to a call; "" is nothing.
type fault string

const (
	faultInternal    fault = "internal error"
	faultUnavailable fault = "unavailable"
	faultThrottled   fault = "throttled"
	faultTimeout     fault = "timeout"
	faultConflict    fault = "conflict"
	faultReset       fault = "reset"       // the connection breaks before the call is passed on
	faultLost        fault = "lost answer" // and after it was carried out
	faultSlow        fault = "slow"
	faultCut         fault = "watch ends"
)

const (
	slowAnswer = 700 * time.Millisecond
	cutAfter   = 3 * time.Second
)

var refusals = map[fault]metav1.Status{
	faultInternal:    {Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError},
	faultUnavailable: {Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
	faultThrottled: {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Details: &metav1.StatusDetails{RetryAfterSeconds: 1}},
	faultTimeout:  {Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout},
	faultConflict: {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
}

// How many of a hundred calls fail. Lists fail rarely: a reflector that failed
// waits for up to half a minute, in which nothing would be tested.
const (
	writeFaults = 10
	readFaults  = 4
	watchCuts   = 10
)

var (
	faultsOfWrites = []fault{faultInternal, faultUnavailable, faultThrottled, faultTimeout, faultReset, faultLost, faultLost, faultLost, faultSlow}
	faultsOfReads  = []fault{faultInternal, faultTimeout, faultReset, faultLost, faultSlow}
)

// drawFault draws what happens to a call.
func drawFault(random *rand.Rand, call call) fault {
	n := random.IntN(100)
	switch {
	case call.watch:
		if n < watchCuts {
			return faultCut
		}
	case call.write:
		if n < writeFaults {
			faults := faultsOfWrites
			if call.method != http.MethodPost && call.method != http.MethodDelete {
				faults = append([]fault{faultConflict, faultConflict, faultConflict}, faults...)
			}
			return faults[random.IntN(len(faults))]
		}
	case n < readFaults:
		return faultsOfReads[random.IntN(len(faultsOfReads))]
	}
	return ""
}
