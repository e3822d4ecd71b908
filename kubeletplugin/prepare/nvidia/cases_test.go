package nvidia_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestCases plays the life of a node. Run it with -rewrite after a change that is
// meant, and read the difference.
//
//	machine node=<file> [static] [real]   begins; files are those of package publish
//	prepare uid=<uid> devices=(...)       devices as in claim; the input is the list of configurations
//	unprepare uid=<uid>
//	start                                 a new driver process starts
//	reboot                                and no driver process is started
//	partition device=<name>               an administrator makes it, and switches the mode on if need be
//	mode gpu=<minor> on|off               an administrator switches MIG mode
//	destroy gpu=<minor>                   an administrator destroys all partitions of a GPU
//	lose gpu=<minor>                      the GPU falls off the bus
//	swap gpu=<minor>                      it and the next one change their numbers
//	unread gpu=<minor> [off]              the library does not tell what partitions it has
//	gpus, files, foreign                  print what there is
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "machine":
				var node string
				d.ScanArgs(t, "node", &node)
				w = newWorld(t, node)
				w.options.StaticMIG, w.real = d.HasArg("static"), d.HasArg("real")
				return w.gpus()
			case "prepare":
				var uid string
				d.ScanArgs(t, "uid", &uid)
				arg, _ := d.Arg("devices")
				devices, err := w.process().Prepare(t.Context(), claim(uid, configs(t, d.Input), arg.Vals...))
				return format(devices, err) + w.gpus()
			case "unprepare":
				var uid string
				d.ScanArgs(t, "uid", &uid)
				return format(nil, w.process().Unprepare(t.Context(), types.UID(uid))) + w.gpus()
			case "start":
				return format(nil, w.process().Start(t.Context())) + w.gpus()
			case "reboot":
				w.machine.reboot()
				w.boot++
				return w.gpus()
			case "gpus":
				return w.gpus()
			case "files":
				return w.files()
			case "foreign":
				list, err := nvidia.Foreign(w.machine.look(), w.claims())
				return format(nil, err) + fmt.Sprintf("%+v\n", list)
			}
			return w.administrator(t, d)
		})
	})
}

// administrator does something behind the driver's back.
func (w *world) administrator(t *testing.T, d *datadriven.TestData) string {
	m := w.machine
	m.mu.Lock()
	if d.Cmd == "partition" {
		var name string
		d.ScanArgs(t, "device", &name)
		found, ok := publish.FindNVIDIA(m.node, name)
		if !ok {
			d.Fatalf(t, "there is no %s", name)
		}
		mig := found.GPU.MIG
		mig.Enabled, mig.Pending = true, true
		id := 7 + len(mig.Instances)
		mig.Instances = append(mig.Instances, hardware.GPUInstanceState{ID: id, ProfileID: found.Profile.ID, Placement: found.Placement,
			ComputeInstances: []hardware.ComputeInstanceState{{UUID: fmt.Sprintf("MIG-admin-%d", id)}}})
	} else {
		var minor int
		d.ScanArgs(t, "gpu", &minor)
		gpu := &m.node.GPUs[slices.IndexFunc(m.node.GPUs, func(g hardware.GPU) bool { return g.Minor == minor })]
		switch d.Cmd {
		case "mode":
			gpu.MIG.Enabled = d.HasArg("on")
			gpu.MIG.Pending = gpu.MIG.Enabled
		case "destroy":
			gpu.MIG.Instances = nil
		case "lose":
			m.lost[gpu.UUID] = true
		case "swap":
			other := &m.node.GPUs[slices.IndexFunc(m.node.GPUs, func(g hardware.GPU) bool { return g.Minor == minor+1 })]
			gpu.Minor, other.Minor = other.Minor, gpu.Minor
		case "unread":
			m.unread[gpu.UUID] = !d.HasArg("off")
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
	}
	m.mu.Unlock()
	return w.gpus()
}

func format(devices []prepare.Device, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var text strings.Builder
	for _, d := range devices {
		share := ""
		if d.ShareID != nil {
			share = ", share " + string(*d.ShareID)
		}
		fmt.Fprintf(&text, "%s: %s/%s%s %v\n", d.Request, d.Pool, d.Device, share, d.CDIDeviceIDs)
	}
	if len(devices) == 0 {
		text.WriteString("ok\n")
	}
	return text.String()
}
