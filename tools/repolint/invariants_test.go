package repolint

import "testing"

func TestInvariants(t *testing.T) {
	expect(t, CheckInvariants(Tree{
		invariants: "| | invariant |\n|---|---|\n| I2 | a |\n| I1 | b |\n| I2 | see I1 |\n",
		"other.md": "| I1 | c |\n| I1 | d |\n",
	}), "docs/invariants.md:5: I2 is also in line 3")
}
