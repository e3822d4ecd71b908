package machine

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// scalarForm finds the values in a line of a machine file.
var scalarForm = regexp.MustCompile(`[A-Za-z0-9_.:"+-]+`)

// mutate changes a few lines of a machine file: it removes, repeats or moves them,
// or puts another value of the file in the place of one.
func mutate(random *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	values := scalarForm.FindAllString(text, -1)
	for range 1 + random.IntN(4) {
		i, j := random.IntN(len(lines)), random.IntN(len(lines))
		switch random.IntN(6) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] += lines[i]
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		default:
			spots := scalarForm.FindAllStringIndex(lines[i], -1)
			if len(spots) > 0 {
				spot := spots[random.IntN(len(spots))]
				lines[i] = lines[i][:spot[0]] + values[random.IntN(len(values))] + lines[i][spot[1]:]
			}
		}
	}
	return strings.Join(lines, "")
}

// Bytes that a fuzzer makes of a machine file are hardly ever a machine. Changed
// lines often are, or are one but for what is wrong with its meaning.
func TestChangedMachinesAreRefusedOrWork(t *testing.T) {
	seed := uint64(1)
	if text, ok := os.LookupEnv("DRAY_MACHINE_SEED"); ok {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("DRAY_MACHINE_SEED: %v", err)
		}
	}
	names, accepted := Names(), 0
	const cases = 400
	for n := range uint64(cases) {
		random := rand.New(rand.NewPCG(seed, n))
		text, err := machineFiles.ReadFile("machines/" + names[random.IntN(len(names))] + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		changed := mutate(random, string(text))
		m, err := Parse("changed.yaml", []byte(changed))
		if err != nil {
			checkFileError(t, err)
		} else {
			accepted++
			checkInstance(t, m)
		}
		if t.Failed() {
			t.Fatalf("case %d of DRAY_MACHINE_SEED=%d:\n%s", n, seed, changed)
		}
	}
	if accepted < cases/20 || accepted > cases*19/20 {
		t.Errorf("%d of %d changed machines were accepted: the changes are too rough or too mild", accepted, cases)
	}
	t.Logf("%d of %d accepted", accepted, cases)
}
