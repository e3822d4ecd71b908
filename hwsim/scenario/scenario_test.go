package scenario_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/scenario"
)

// devicesOf is what an embedded machine has.
func devicesOf(t testing.TB, name string) fault.Devices {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	instance := m.Instantiate(machine.Identity{Name: "n"})
	if instance.Pool != nil {
		return fault.Devices{Pool: instance.Pool}
	}
	return fault.Devices{Node: instance.Nodes[0].Hardware}
}

// The cases plan the input on a machine: "plan machine=dgx-h100".
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := "dgx-h100"
			d.MaybeScanArgs(t, "machine", &name)
			s, err := scenario.Parse("my.yaml", []byte(d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			plan, err := s.Plan(devicesOf(t, name))
			if err != nil {
				return err.Error() + "\n"
			}
			var out strings.Builder
			for _, step := range plan {
				_, _, device := step.Step.Device()
				out.WriteString(strings.TrimSpace(strings.Join([]string{step.After.Round(time.Millisecond).String(), step.Place, step.Step.What(), device}, " ")) + "\n")
			}
			return out.String()
		})
	})
}

func TestEveryEmbeddedScenarioHasAPlanOnAMachine(t *testing.T) {
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name || s.Description == "" {
			t.Errorf("%s: its name is %q, its description %q", name, s.Name, s.Description)
		}
		on := "dgx-h100"
		if name == "fabric" {
			on = "fabric-pool"
		}
		first, err := s.Plan(devicesOf(t, on))
		if err != nil {
			t.Errorf("%s on %s: %v", name, on, err)
		}
		again, err := s.Plan(devicesOf(t, on))
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("%s: one seed, two plans: %v\n%s", name, err, diff)
		}
	}
}

func TestTheEmbeddedScenariosHaveEveryKindOfFault(t *testing.T) {
	var found []string
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Steps {
			found = append(found, s.Steps[i].What())
		}
	}
	for _, kind := range fault.Kinds() {
		if !slices.Contains(found, kind) {
			t.Errorf("no embedded scenario has %s", kind)
		}
	}
}

func TestAFaultForADeviceThatIsNotThereHasAPlaceAndNoPlan(t *testing.T) {
	s, err := scenario.Parse("my.yaml", []byte("name: x\nsteps:\n- reboot: {}\n- at: 5s\n  xid: {gpu: \"9\", code: 79}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(devicesOf(t, "dgx-h100"))
	var file *machine.FileError
	if !errors.As(err, &file) || plan != nil || !strings.HasPrefix(err.Error(), "my.yaml:5:9: steps[1].xid.gpu: ") {
		t.Errorf("plan %v, error %v", plan, err)
	}
	if _, err := s.Plan(devicesOf(t, "sriov-nic")); err == nil {
		t.Error("a machine without GPUs has a plan")
	}
}

// FuzzParse holds Parse to: it never panics, what is wrong is a *FileError with a line
// for each problem, and what it accepts has a plan on a machine that has the devices,
// or a *FileError.
func FuzzParse(f *testing.F) {
	for _, name := range scenario.Names() {
		text, err := scenario.Text(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: x\nsteps: [{at: 1s, jitter: 1h, link: {nic: any, times: 3, down: 1s, every: 2s}}, {attach: {device: any, node: n}}]"))
	node, pool := devicesOf(f, "mixed"), devicesOf(f, "fabric-pool")
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("fuzz.yaml", text)
		if err != nil {
			checkFileError(t, err)
			return
		}
		for _, devices := range []fault.Devices{node, pool, {}} {
			plan, err := s.Plan(devices)
			if err != nil {
				checkFileError(t, err)
				continue
			}
			if len(plan) != len(s.Steps) || !slices.IsSortedFunc(plan, func(a, b scenario.Timed) int { return int(a.After - b.After) }) {
				t.Errorf("%d steps of %d, or out of order", len(plan), len(s.Steps))
			}
		}
	})
}

func checkFileError(t *testing.T, err error) {
	var file *machine.FileError
	if !errors.As(err, &file) || len(file.Problems) == 0 {
		t.Fatalf("%T is no *FileError with problems: %v", err, err)
	}
	for _, p := range file.Problems {
		if p.Line < 1 || p.Column < 1 || p.Message == "" {
			t.Errorf("a problem without a place or a message: %+v", p)
		}
	}
}

func TestTheSampleOfTheREADMEIsAScenario(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n### Scenarios\n")
	_, rest, _ = strings.Cut(rest, "\n```yaml\n")
	block, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no sample")
	}
	s, err := scenario.Parse("README.md", []byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := s.Plan(devicesOf(t, "dgx-h100")); err != nil || len(plan) != 4 {
		t.Errorf("plan %v, error %v", plan, err)
	}
}
