package surface

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

const (
	nvidiaProc = "proc/driver/nvidia"
	// libraries is where a driver of any architecture can be found.
	libraries = "usr/lib64"
)

// nvidiaLibraries of the driver, of which each has a link with the major version
// of its interface.
var nvidiaLibraries = []string{
	"libcuda", "libcudadebugger", "libnvcuvid", "libnvidia-allocator", "libnvidia-cfg", "libnvidia-encode",
	"libnvidia-gpucomp", "libnvidia-ml", "libnvidia-nvvm", "libnvidia-opencl", "libnvidia-opticalflow",
	"libnvidia-ptxjitcompiler",
}

var nvidiaPrograms = []string{
	"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-debugdump", "nvidia-modprobe", "nvidia-persistenced", "nvidia-smi",
}

// nvidia writes what the NVIDIA driver makes.
func (s *surface) nvidia() {
	driver := s.node.GPUDriver
	if driver == nil {
		return
	}
	if !fs.ValidPath(driver.Version) || strings.ContainsAny(driver.Version, "/\n") {
		s.errs = append(s.errs, &hardware.DeviceError{Device: "gpu driver", Field: "Version",
			Err: fmt.Errorf("%q cannot be part of a library's name", driver.Version)})
		return
	}
	s.raw(path.Join(nvidiaProc, "version"), fmt.Sprintf(
		"NVRM version: NVIDIA UNIX Open Kernel Module  %s  Release Build\nGCC version:\n", driver.Version))
	s.raw(path.Join(nvidiaProc, "params"), fmt.Sprintf("ModifyDeviceFiles: 1\nImexChannelCount: %d\n", driver.IMEXChannels))
	s.line("sys/module/nvidia/version", "%s", driver.Version)
	for _, name := range nvidiaLibraries {
		versioned := path.Join(libraries, name+".so."+driver.Version)
		s.raw(versioned, "")
		s.link(path.Join(libraries, name+".so.1"), versioned)
	}
	s.link(path.Join(libraries, "libcuda.so"), path.Join(libraries, "libcuda.so.1"))
	for _, program := range nvidiaPrograms {
		s.raw(path.Join("usr/bin", program), "")
	}
	for _, firmware := range []string{"gsp_ga10x.bin", "gsp_tu10x.bin"} {
		s.raw(path.Join("usr/lib/firmware/nvidia", driver.Version, firmware), "")
	}
	s.device("nvidiactl", node(majorNVIDIA, minorNVIDIACtl))
	s.device("nvidia-modeset", node(majorNVIDIA, minorModeset))
	s.device("nvidia-uvm", node(majorUVM, 0))
	s.device("nvidia-uvm-tools", node(majorUVM, 1))
	if driver.IMEXChannels > 0 {
		// The driver makes the first channel's node; the others are made for who
		// gets them.
		s.device("nvidia-caps-imex-channels/channel0", node(majorIMEX, 0))
		s.raw("usr/bin/nvidia-imex", "")
		s.raw("usr/bin/nvidia-imex-ctl", "")
	}
	for i := range s.node.GPUs {
		s.gpu(&s.node.GPUs[i])
	}
	capabilities, err := numbering.Capabilities(s.node.GPUs)
	if err != nil {
		s.errs = append(s.errs, err)
	}
	for _, c := range capabilities {
		s.capability(c)
	}
}

func (s *surface) gpu(g *hardware.GPU) {
	s.device(fmt.Sprintf("nvidia%d", g.Minor), node(majorNVIDIA, g.Minor))
	s.raw(path.Join(nvidiaProc, "gpus", g.Address.String(), "information"), fmt.Sprintf(
		"Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n",
		g.ProductName, g.UUID, g.Address, g.Minor))
}

// capability writes the file by which the driver tells which device node grants
// a right, and the node.
func (s *surface) capability(c numbering.Capability) {
	s.raw(path.Join(nvidiaProc, "capabilities", c.Path),
		fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: %d\nDeviceFileModify: 1\n", c.Minor, c.Mode))
	s.device(fmt.Sprintf("nvidia-caps/nvidia-cap%d", c.Minor), node(majorCaps, c.Minor))
}
