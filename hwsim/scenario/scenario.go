package scenario

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
)

// File is a scenario file. Its fields stand in the file under the names of their json
// tags.
type File struct {
	// Name and Description are for people.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Seed chooses where the file leaves a choice: devices called any, and jitter.
	Seed  uint64 `json:"seed,omitempty"`
	Steps []Step `json:"steps"`
}

// Step is something that happens at a time: one fault, or one of the other fields.
type Step struct {
	// At is the time from the beginning; Jitter more, up to as much, by the seed.
	At     fault.Duration `json:"at,omitempty"`
	Jitter fault.Duration `json:"jitter,omitempty"`

	fault.Fault `json:",inline"`

	// Reset resets a GPU, Reboot the machine.
	Reset  *Reset  `json:"reset,omitempty"`
	Reboot *Reboot `json:"reboot,omitempty"`
	// Attach and Detach move a device of a fabric pool.
	Attach *Attach `json:"attach,omitempty"`
	Detach *Detach `json:"detach,omitempty"`
}

// Reset is a reset of a GPU.
type Reset struct {
	GPU string `json:"gpu"`
}

// Reboot is a reboot of the machine.
type Reboot struct{}

// Attach attaches a device of a pool to a node.
type Attach struct {
	Device string `json:"device"`
	Node   string `json:"node"`
}

// Detach frees it again.
type Detach struct {
	Device string `json:"device"`
}

// Scenario is a file that has been read and checked in itself.
type Scenario struct {
	File
	doc *machine.Document
}

// maxSteps bounds a scenario.
const maxSteps = 10000

// Parse reads a scenario: YAML, or JSON, which is YAML. What is wrong is a
// *machine.FileError with line and field of each problem.
func Parse(name string, text []byte) (*Scenario, error) {
	s := &Scenario{}
	s.doc = machine.Decode(name, "scenario", "a scenario needs a name and steps", text, &s.File)
	if err := s.doc.Err(); err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.doc.Add("name", "is missing")
	}
	if len(s.Steps) == 0 || len(s.Steps) > maxSteps {
		s.doc.Add("steps", "there are %d; a scenario has from 1 to %d", len(s.Steps), maxSteps)
		return nil, s.doc.Err()
	}
	for i := range s.Steps {
		s.checkStep(fmt.Sprintf("steps[%d]", i), &s.Steps[i])
	}
	if err := s.doc.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadFile is Parse of a file.
func ReadFile(name string) (*Scenario, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("scenario file: %w", err)
	}
	return Parse(name, text)
}

// ParseFault reads one fault, as it stands in a step: "xid: {gpu: 0, code: 79}".
func ParseFault(name string, text []byte) (fault.Fault, error) {
	var f fault.Fault
	doc := machine.Decode(name, "fault", "give one fault, such as xid: {gpu: 0, code: 79}", text, &f)
	if err := doc.Err(); err != nil {
		return f, err
	}
	for _, problem := range f.Validate() {
		doc.Add(problem.Field, "%v", problem.Err)
	}
	return f, doc.Err()
}

func (s *Scenario) checkStep(path string, step *Step) {
	others := step.others()
	switch kind := step.Kind(); {
	case len(others) > 1:
		s.doc.Add(path+"."+others[1], "is a second thing beside %s; give each a step of its own", others[0])
	case len(others) == 1 && kind != "":
		s.doc.Add(path+"."+others[0], "is a second thing beside %s; give each a step of its own", kind)
	case len(others) == 1:
	case step.Fault == fault.Fault{}:
		s.doc.Add(path, "nothing is to happen; there are %s", strings.Join(append(fault.Kinds(), "reset", "reboot", "attach", "detach"), ", "))
	default:
		for _, problem := range step.Validate() {
			s.doc.Add(strings.TrimSuffix(path+"."+problem.Field, "."), "%v", problem.Err)
		}
	}
	if step.Attach != nil && step.Attach.Node == "" {
		s.doc.Add(path+".attach.node", "is missing: the name of a node")
	}
}

// others are the fields besides faults that are set.
func (s *Step) others() []string {
	var others []string
	for _, has := range []struct {
		name string
		set  bool
	}{{"reset", s.Reset != nil}, {"reboot", s.Reboot != nil}, {"attach", s.Attach != nil}, {"detach", s.Detach != nil}} {
		if has.set {
			others = append(others, has.name)
		}
	}
	return others
}

// What the step does: the name of its fault or of the other field.
func (s *Step) What() string {
	if others := s.others(); len(others) > 0 {
		return others[0]
	}
	return s.Kind()
}

// device is the field that names the step's device, its kind and name.
func (s *Step) device() (field, kind, name string) {
	switch {
	case s.Reset != nil:
		return "reset.gpu", "gpu", s.Reset.GPU
	case s.Attach != nil:
		return "attach.device", "device", s.Attach.Device
	case s.Detach != nil:
		return "detach.device", "device", s.Detach.Device
	}
	return s.Fault.Device()
}

// on returns the step with another device.
func (s *Step) on(name string) Step {
	step := *s
	switch {
	case s.Reset != nil:
		step.Reset = &Reset{name}
	case s.Attach != nil:
		step.Attach = &Attach{name, s.Attach.Node}
	case s.Detach != nil:
		step.Detach = &Detach{name}
	default:
		step.Fault = s.Fault.On(name)
	}
	return step
}

// Timed is a step with its time from the beginning, and where it stands in the file.
type Timed struct {
	After time.Duration
	Place string // "file:line:column"
	Step  Step
}

// Plan is the steps on a machine by time, with every choice made: the same seed makes
// the same. A device that is not there is a problem with its line, and then there is no
// plan at all.
//
// A GPU instance that an XID names need not be there before the scenario begins, so
// it is looked at when the time has come.
func (s *Scenario) Plan(devices fault.Devices) ([]Timed, error) {
	doc := s.doc.Clean()
	random := rand.New(rand.NewPCG(s.Seed, 0))
	var plan []Timed
	for i := range s.Steps {
		step := s.Steps[i]
		path := fmt.Sprintf("steps[%d]", i)
		field, kind, name := step.device()
		jitter := random.Float64() // for every step, so that steps do not depend on each other's fields
		choice := random.Float64()
		if kind != "" {
			found, err := devices.Find(kind, name)
			if err != nil {
				doc.Add(path+"."+field, "%v", err)
				continue
			}
			if name == fault.Any {
				names := devices.Names(kind)
				found = names[int(choice*float64(len(names)))]
			}
			step = step.on(found)
		}
		after := time.Duration(step.At) + time.Duration(jitter*float64(step.Jitter))
		plan = append(plan, Timed{after, doc.Place(path), step})
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(plan, func(a, b Timed) int { return cmp.Compare(a.After, b.After) })
	return plan, nil
}
