package suite

import (
	"fmt"
	"strings"
	"testing"
)

// contains returns nil if the text has the words.
func contains(text, words string) error {
	if !strings.Contains(text, words) {
		return fmt.Errorf("%q does not say %q", text, words)
	}
	return nil
}

func TestAPodThatCannotRunSaysWhy(t *testing.T) {
	promise(t, "a pod whose claim does not fit names the claim and the request, and runs when it does fit", func(s *scene) {
		node, devices := s.gpuNode()
		count := int64(len(ofType(devices, "gpu")))
		s.makeClaim("rest", claimSpec(requestOf("gpus", facts.gpuClass, count)))
		s.makePod("first", usingClaim("rest"), onNode(node))
		s.running("first")
		s.makeClaim("train", claimSpec(request("accelerator", facts.gpuClass)))
		s.makePod("second", usingClaim("train"), onNode(node))
		why := s.refused("second")
		s.must(contains(why, "claim train, request accelerator"))
		s.remove("first")
		s.running("second")
	})
}
