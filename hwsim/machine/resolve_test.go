package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// equalInstances compares what two machines become.
func equalInstances(t *testing.T, a, b *Machine) {
	t.Helper()
	id := Identity{Name: "host-1", Seed: 7}
	if diff := cmp.Diff(a.Instantiate(id), b.Instantiate(id)); diff != "" {
		t.Errorf("the instances differ (-first +second):\n%s", diff)
	}
}

func TestResolvedFilesReadBackAsTheSameMachine(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			m := load(t, name)
			for form, encode := range map[string]func(*File) ([]byte, error){"yaml": (*File).YAML, "json": (*File).JSON} {
				text, err := encode(m.Resolved())
				if err != nil {
					t.Fatal(err)
				}
				again, err := Parse(name+"."+form, text)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if diff := cmp.Diff(m.Resolved(), again.Resolved()); diff != "" {
					t.Errorf("%s: the files differ (-first +second):\n%s", form, diff)
				}
				equalInstances(t, m, again)
			}
		})
	}
}

func load(t testing.TB, name string) *Machine {
	t.Helper()
	m, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
