package localcluster

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestThePolicyAboutSlicesIsTheOneThatIsShipped: what is tried on local clusters is what
// an installation has.
func TestThePolicyAboutSlicesIsTheOneThatIsShipped(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubeletplugin/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("it has %d documents", len(documents))
	}
	var shippedPolicy admissionv1.ValidatingAdmissionPolicy
	var shippedBinding admissionv1.ValidatingAdmissionPolicyBinding
	for i, into := range []any{&shippedPolicy, &shippedBinding} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			t.Fatal(err)
		}
	}
	policy, binding := slicePolicy()
	if diff := cmp.Diff(policy.Spec, shippedPolicy.Spec); diff != "" {
		t.Errorf("the policy, and what is shipped: %s", diff)
	}
	if diff := cmp.Diff(binding.Spec, shippedBinding.Spec); diff != "" {
		t.Errorf("the binding, and what is shipped: %s", diff)
	}
	if policy.Name != shippedPolicy.Name || binding.Name != shippedBinding.Name {
		t.Errorf("names are %s and %s, and what is shipped %s and %s", policy.Name, binding.Name, shippedPolicy.Name, shippedBinding.Name)
	}
}
