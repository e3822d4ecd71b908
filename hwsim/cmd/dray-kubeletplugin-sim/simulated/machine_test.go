package simulated

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/command"
)

func nodesOf(t *testing.T, args ...string) ([]command.Node, error) {
	t.Helper()
	m := &Machine{}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	m.Flags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return m.Nodes()
}

func create(t *testing.T, dir, name string) *state.Folder {
	t.Helper()
	m, err := machine.Load("t4")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := state.Create(dir, m, machine.Identity{Name: name, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestFoldersAreNodes(t *testing.T) {
	dir := t.TempDir()
	create(t, filepath.Join(dir, "many", "a"), "node-a")
	create(t, filepath.Join(dir, "many", "b"), "node-b")
	create(t, filepath.Join(dir, "again"), "node-a")
	made := filepath.Join(dir, "made")
	for _, c := range []struct {
		name  string
		args  []string
		nodes []string
		err   string
	}{
		{"none", nil, nil, "--dir is missing"},
		{"one", []string{"--dir", dir + "/again"}, []string{"node-a"}, ""},
		{"those of a folder", []string{"--dir", dir + "/many"}, []string{"node-a", "node-b"}, ""},
		{"some", []string{"--dir", dir + "/many/b", "--dir", dir + "/again"}, []string{"node-b", "node-a"}, ""},
		{"two of a name", []string{"--dir", dir + "/many", "--dir", dir + "/again"}, nil, "another node of the name node-a"},
		{"no machine", []string{"--dir", dir + "/nothing"}, nil, "name it with --machine"},
		{"a machine that there is not", []string{"--dir", made, "--machine", "fridge"}, nil, "fridge"},
		{"a rack", []string{"--dir", made, "--machine", "gb200-nvl72"}, nil, "is a rack"},
		{"one that is made", []string{"--dir", made, "--machine", "t4", "--node-name", "node-c"}, []string{"node-c"}, ""},
		{"and is there", []string{"--dir", made, "--machine", "dgx-h100"}, []string{"node-c"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes, err := nodesOf(t, c.args...)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v does not say %q", err, c.err)
				}
				return
			}
			var names []string
			for _, node := range nodes {
				names = append(names, node.Name)
			}
			if err != nil || !slices.Equal(names, c.nodes) {
				t.Errorf("nodes are %v, %v", names, err)
			}
		})
	}
}

// pool is what a driver publishes, in so many slices.
func pool(slices int) resourceslice.DriverResources {
	p := resourceslice.Pool{}
	for i := range slices {
		p.Slices = append(p.Slices, resourceslice.Slice{Devices: []resourceapi.Device{{Name: fmt.Sprint("d", i)}}})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{"n": p}}
}

func shape(resources resourceslice.DriverResources) string {
	p, ok := resources.Pools["n"]
	if !ok {
		return "no pool"
	}
	devices := 0
	for _, slice := range p.Slices {
		devices += len(slice.Devices)
	}
	return fmt.Sprintf("%d slices, %d devices", len(p.Slices), devices)
}

// TestInstructionsAreObeyed, those for other drivers are not, and what was said is over
// when it is.
func TestInstructionsAreObeyed(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault.Fault
		want  []string // of rounds while it lasts
	}{
		{"late", fault.Fault{DriverLate: &fault.DriverLate{For: 1e9}}, []string{"1 slices, 0 devices", "1 slices, 0 devices"}},
		{"vanished", fault.Fault{PoolVanished: &fault.PoolVanished{For: 1e9}}, []string{"no pool", "no pool"}},
		{"another's", fault.Fault{PoolVanished: &fault.PoolVanished{Driver: "nic", For: 1e9}}, []string{"3 slices, 3 devices"}},
		{"half published", fault.Fault{HalfPublished: &fault.HalfPublished{Missing: 1, For: 1e9}},
			[]string{"2 slices, 2 devices", "3 slices, 3 devices", "3 slices, 3 devices"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := create(t, t.TempDir()+"/hw", "n")
			o := newObedience(folder)
			if got := shape(o.publish(t.Context(), pool(3))); got != "3 slices, 3 devices" {
				t.Errorf("before it is %s", got)
			}
			if err := folder.Update(func(tx *state.Tx) error { return tx.Inject(c.fault) }); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := shape(o.publish(t.Context(), pool(3))); got != want {
					t.Errorf("in round %d it is %s, not %s", i, got, want)
				}
			}
		})
	}
}

type answer struct{ asked []string }

func (a *answer) RoundTrip(request *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, request.Method+" "+request.URL.String())
	if request.Body != nil {
		if _, err := io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK}, nil
}

// TestSlicesThatMustBeMissingAreNotWritten, and everything else is.
func TestSlicesThatMustBeMissingAreNotWritten(t *testing.T) {
	o := &obedience{half: true, from: 1}
	a := &answer{}
	post := func(name, query string) error {
		slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{GenerateName: name}}
		body, err := runtime.Encode(scheme.Codecs.LegacyCodec(resourceapi.SchemeGroupVersion), slice)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
			"http://x/apis/resource.k8s.io/v1/resourceslices"+query, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.wrap(a).RoundTrip(request)
		return err
	}
	for name, kept := range map[string]bool{"00000-gpu-n-": false, "00001-gpu-n-": true, "0000a-gpu-n-": true} {
		if err := post(name, ""); (err != nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := post("probe-", "?dryRun=All"); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if err := post("strange-", ""); err == nil {
		t.Error("a slice without a number in its name is written")
	}
	o.half = false
	if err := post("00001-gpu-n-", ""); err != nil {
		t.Errorf("when it is over: %v", err)
	}
	if len(a.asked) != 3 {
		t.Errorf("requests are %v", a.asked)
	}
}
