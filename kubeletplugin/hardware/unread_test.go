package hardware_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// refusingHost refuses one file with an error.
type refusingHost struct {
	textHost
	name string
	err  error
}

func (h refusingHost) Open(name string) (fs.File, error) {
	if name == h.name {
		return nil, &fs.PathError{Op: "open", Path: "/host/" + name, Err: h.err}
	}
	return h.textHost.Open(name)
}

func (h refusingHost) ReadLink(name string) (string, error) {
	if name == h.name {
		return "", &fs.PathError{Op: "readlink", Path: "/host/" + name, Err: h.err}
	}
	return h.textHost.ReadLink(name)
}

func (h refusingHost) Lstat(name string) (fs.FileInfo, error) {
	if name == h.name {
		return nil, &fs.PathError{Op: "lstat", Path: "/host/" + name, Err: h.err}
	}
	return h.textHost.Lstat(name)
}

const functions = "sys/devices/pci0000:15/0000:15:01.0/"

func TestAFileThatCannotBeReadIsReportedBesideTheNode(t *testing.T) {
	for name, device := range map[string]string{
		"sys/class/net":                                          "host",
		"sys/class/net/ens1f0np0":                                "host",
		"sys/devices/system/node":                                "host",
		"usr/share/hwdata/pci.ids":                               "host",
		"proc/devices":                                           "host",
		"sys/class/kfd/kfd/topology/nodes":                       "host",
		"sys/module/amdgpu/version":                              "host",
		"sys/devices/system/node/node0/distance":                 "host",
		functions + nicAddress + "/net/ens1f0np0/address":        "pci function " + nicAddress,
		functions + nicAddress + "/net/ens1f0np0/speed":          "pci function " + nicAddress,
		functions + nicAddress + "/net/ens1f0np0/phys_port_name": "pci function " + nicAddress,
		functions + nicAddress + "/sriov_totalvfs":               "pci function " + nicAddress,
		functions + vfAddress + "/physfn":                        "pci function " + vfAddress,
		functions + vfAddress + "/driver":                        "pci function " + vfAddress,
		functions + vfAddress + "/iommu_group":                   "pci function " + vfAddress,
		functions + "0000:17:00.0/driver":                        "pci function 0000:17:00.0",
		functions + "0000:17:00.0/vendor":                        "amd gpu 0000:17:00.0",
		functions + "0000:1c:00.1/xmc.u.7169/serial_num":         "pci function 0000:1c:00.1",
		functions + "0000:1c:00.1/user_pf":                       "pci function 0000:1c:00.1",
	} {
		for _, refusal := range []error{fs.ErrPermission, syscall.EACCES, syscall.EIO} {
			node, err := hardware.Discover(refusingHost{hostOf(machine), name, refusal}, one())
			if node == nil || !errors.Is(err, refusal) {
				t.Errorf("%s: node %v, error %v", name, node, err)
				continue
			}
			named := 0
			for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
				var e *hardware.DeviceError
				if errors.As(err, &e) && e.Device == device && strings.Contains(err.Error(), name) {
					named++
				}
			}
			if named != 1 {
				t.Errorf("%s: %d errors of %s name it: %v", name, named, device, err)
			}
		}
	}
}

func TestAFileOfSysfsThatDoesNotApplyIsNoError(t *testing.T) {
	for _, name := range []string{
		functions + nicAddress + "/net/ens1f0np0/speed", functions + nicAddress + "/net/ens1f0np0/phys_port_name",
		functions + nicAddress + "/infiniband/mlx5_0/ports/1/rate",
		functions + "0000:1b:00.0/fpga_region/region0/dfl-port.4/afu_id",
	} {
		for _, refusal := range []error{fs.ErrNotExist, syscall.ENOENT, syscall.EINVAL, syscall.ENODEV, syscall.EOPNOTSUPP, syscall.EBUSY} {
			if _, err := hardware.Discover(refusingHost{hostOf(machine), name, refusal}, one()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestALinkToADriverLeadsToADriver(t *testing.T) {
	for _, target := range []string{"driver", "/", "..", "../../../../bus/pci"} {
		link := functions + nicAddress + "/driver"
		node, err := hardware.Discover(hostOf(machine, link+" -> "+target), nil)
		if err == nil || !strings.Contains(err.Error(), link+" leads to /") {
			t.Errorf("%s: error %v", target, err)
		}
		for _, nic := range node.NICs {
			if nic.Address == address(nicAddress) {
				t.Errorf("%s: the function is there, with driver %q", target, nic.Driver)
			}
		}
	}
}

func TestABrokenCardIsReportedOnceWhoeverLeadsToIt(t *testing.T) {
	var functions []string
	for i := range 8 {
		functions = append(functions, pci(fmt.Sprintf("0000:1e:00.%d", i), "0x10ee", "0x50b4", "none",
			"driver -> ../../../../bus/pci/drivers/ami", "dev_name = ALVEO V80"))
	}
	_, err := hardware.Discover(hostOf(strings.Join(functions, "")), nil)
	reports := map[string]int{}
	for _, name := range leftOut(t, err) {
		reports[name]++
	}
	same(t, "reports of the first two", [2]int{reports["fpga 0000:1e:00.0"], reports["fpga 0000:1e:00.1"]}, [2]int{1, 1})
}

func TestAGapInTheLinksToVirtualFunctionsIsReported(t *testing.T) {
	node, err := hardware.Discover(hostOf(machine, functions+nicAddress+"/virtfn3 -> ../0000:18:00.5"), one())
	want := "pci function " + nicAddress + ": " + functions + nicAddress + "/virtfn1: it is missing, while there is virtfn3"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	same(t, "functions", len(node.NICs), 3)
}
