package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Host is the machine's files. What it reads is in step with the state; what is
// written to it changes the state as a kernel and drivers would, or fails with
// their errno:
//
//	sriov_numvfs, sriov_drivers_autoprobe, driver_override, reset
//	    of functions below sys/devices
//	bind, unbind of drivers, drivers_probe below sys/bus/pci
//	nvidia/current_vgpu_type of a virtual function of a GPU
//	mtu and compat/devlink/mode of a network interface
//	current_compute_partition, current_memory_partition of AMD's GPUs: only the
//	    mode that is set already; another is EBUSY
//	dev/dfl-fme.N: a bitstream, see RegionWrite
//
// Anything else that is there cannot be written: EACCES below sys, EIO below proc,
// EINVAL below dev and EROFS elsewhere. As on a real machine nothing is made by a
// write: what is not there is ENOENT.
type Host struct{ folder *Folder }

var _ hardware.Host = (*Host)(nil)

// ErrPool is the error of a pool that is asked for its files: it is no computer.
var ErrPool = errors.New("a fabric pool has no files and no GPU library")

// Host returns the machine's files. Of a pool, every call fails with ErrPool.
func (f *Folder) Host() *Host { return &Host{f} }

// in calls a function while the files are in step.
func (h *Host) in(op, name string, do func(hardware.Host) error) error {
	if h.folder.model.node == nil {
		return &fs.PathError{Op: op, Path: name, Err: ErrPool}
	}
	return h.folder.inStep(func(*snapshot) error {
		host := h.folder.host
		if host == nil { // a folder that Create made opens it when it is first asked
			if err := h.folder.openHost(); err != nil {
				return err
			}
			host = h.folder.host
		}
		return do(host)
	})
}

// Open implements fs.FS.
func (h *Host) Open(name string) (file fs.File, err error) {
	err = h.in("open", name, func(host hardware.Host) (err error) {
		file, err = host.Open(name)
		return err
	})
	return file, err
}

// ReadLink implements fs.ReadLinkFS.
func (h *Host) ReadLink(name string) (target string, err error) {
	err = h.in("readlink", name, func(host hardware.Host) (err error) {
		target, err = host.ReadLink(name)
		return err
	})
	return target, err
}

// Lstat implements fs.ReadLinkFS.
func (h *Host) Lstat(name string) (info fs.FileInfo, err error) {
	err = h.in("lstat", name, func(host hardware.Host) (err error) {
		info, err = host.Lstat(name)
		return err
	})
	return info, err
}

// DeviceNode implements hardware.Host.
func (h *Host) DeviceNode(name string) (node hardware.DeviceNode, err error) {
	err = h.in("stat", name, func(host hardware.Host) (err error) {
		node, err = host.DeviceNode(name)
		return err
	})
	return node, err
}

// WriteFile implements hardware.Host.
func (h *Host) WriteFile(name string, data []byte) error {
	var real string
	err := h.in("open", name, func(hardware.Host) (err error) {
		real, err = h.resolve(name)
		return err
	})
	if err == nil && len(data) > 0 { // the kernel hands no empty write on
		err = h.folder.Update(func(tx *Tx) error { return tx.write(real, data) })
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, ErrBehind) { // what is behind has happened
		return &fs.PathError{Op: "write", Path: name, Err: errno}
	}
	return err
}

// resolve follows all links in a name, and says why the file cannot be opened for
// writing.
func (h *Host) resolve(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", syscall.EINVAL
	}
	root, err := filepath.EvalSymlinks(h.folder.Root())
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(root, real)
	if err != nil {
		return "", err
	}
	if below == ".." || strings.HasPrefix(below, "../") {
		return "", syscall.EACCES
	}
	if info.IsDir() {
		return "", syscall.EISDIR
	}
	return filepath.ToSlash(below), nil
}

// write is a write to a file by its real name.
func (tx *Tx) write(real string, data []byte) error {
	// One newline at the end is what echo adds, and no kernel minds it.
	text := strings.TrimSuffix(string(data), "\n")
	top, below, _ := strings.Cut(real, "/")
	switch top {
	case "sys":
		if driver, ok := strings.CutPrefix(real, "sys/bus/pci/drivers/"); ok {
			return tx.writeDriver(driver, text)
		}
		if real == "sys/bus/pci/drivers_probe" {
			return withAddress(text, tx.Probe)
		}
		return tx.writeFunction(real, text)
	case "proc":
		return syscall.EIO
	case "dev":
		return tx.writeDevice(below, data)
	}
	return syscall.EROFS
}

func withAddress(text string, do func(hardware.PCIAddress) error) error {
	address, err := hardware.ParsePCIAddress(text)
	if err != nil {
		return syscall.ENODEV // no device of the bus has the name
	}
	return do(address)
}

func (tx *Tx) writeDriver(name, text string) error {
	driver, file := path.Split(name)
	driver = strings.TrimSuffix(driver, "/")
	switch file {
	case "bind":
		return withAddress(text, func(a hardware.PCIAddress) error { return tx.Bind(driver, a) })
	case "unbind":
		return withAddress(text, func(a hardware.PCIAddress) error { return tx.Unbind(driver, a) })
	}
	return syscall.EACCES
}

// writeFunction is a write to a file in a function's directory, which is the last
// element of the name that is an address.
func (tx *Tx) writeFunction(real, text string) error {
	elements := strings.Split(real, "/")
	for i := len(elements) - 2; i >= 0; i-- {
		address, err := hardware.ParsePCIAddress(elements[i])
		if err != nil {
			continue
		}
		file := strings.Join(elements[i+1:], "/")
		switch {
		case file == "sriov_numvfs":
			return withNumber(text, 16, func(n int) error { return tx.SetVFs(address, n) })
		case file == "sriov_drivers_autoprobe":
			return withBool(text, func(on bool) error { return tx.SetAutoprobe(address, on) })
		case file == "driver_override":
			return tx.SetOverride(address, text)
		case file == "reset":
			return withNumber(text, 32, func(n int) error {
				if n != 1 {
					return syscall.EINVAL
				}
				if err := tx.Reset(address); err != nil {
					return errnoOf(err)
				}
				return nil
			})
		case file == "nvidia/current_vgpu_type":
			return withNumber(text, 32, func(n int) error { return tx.SetVGPU(address, n) })
		case path.Base(file) == "mtu" && strings.HasPrefix(file, "net/"):
			return withNumber(text, 32, func(n int) error { return tx.SetMTU(address, n) })
		case strings.HasSuffix(file, "/compat/devlink/mode"):
			return tx.SetEswitch(address, text)
		case file == "current_compute_partition", file == "current_memory_partition":
			return tx.setPartition(address, file == "current_compute_partition", text)
		}
		break
	}
	return syscall.EACCES
}

// withNumber reads a number as the kernel's kstrtou16 and kstrtou32 do with base 0.
func withNumber(text string, bits int, do func(int) error) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 0, bits)
	if err != nil || strings.Contains(text, "_") {
		return syscall.EINVAL
	}
	return do(int(n))
}

// withBool reads a truth value as the kernel's kstrtobool does: by its first
// letters.
func withBool(text string, do func(bool) error) error {
	lower := strings.ToLower(text)
	switch {
	case lower == "":
		return syscall.EINVAL
	case strings.ContainsRune("yt1", rune(lower[0])), strings.HasPrefix(lower, "on"):
		return do(true)
	case strings.ContainsRune("nf0", rune(lower[0])), strings.HasPrefix(lower, "of"):
		return do(false)
	}
	return syscall.EINVAL
}

// setPartition admits the mode that an AMD GPU is in. Others take a machine on which
// nothing holds the GPU, and none is like that here.
func (tx *Tx) setPartition(address hardware.PCIAddress, compute bool, mode string) error {
	for _, gpu := range tx.folder.model.base.AMDGPUs {
		if gpu.Address != address {
			continue
		}
		present, known := gpu.Memory, false
		if compute {
			present = gpu.Compute
		}
		for _, m := range gpu.Modes {
			known = known || compute && m.Compute == mode || !compute && m.Memory == mode
		}
		switch {
		case mode == present:
			return nil
		case known:
			return syscall.EBUSY
		}
		return syscall.EINVAL
	}
	return syscall.ENODEV
}

func (tx *Tx) writeDevice(name string, data []byte) error {
	number, ok := strings.CutPrefix(name, "dfl-fme.")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return syscall.EINVAL
	}
	shown, err := tx.folder.model.show(tx.doc)
	if err != nil {
		return err
	}
	cards := surface.ManagementEngines(shown.node)
	if n < 0 || n >= len(cards) {
		return syscall.ENODEV
	}
	return tx.program(cards[n], data)
}

// MakeDeviceNode is mknod for the device nodes that drivers make themselves: those
// of IMEX channels, dev/nvidia-caps-imex-channels/channelN. The numbers must be the
// channel's; of one that is there it says EEXIST, of anything else EPERM.
func (h *Host) MakeDeviceNode(name string, node hardware.DeviceNode) error {
	err := h.folder.Update(func(tx *Tx) error { return tx.makeChannel(name, node) })
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return &fs.PathError{Op: "mknod", Path: name, Err: errno}
	}
	return err
}

// RemoveDeviceNode removes what MakeDeviceNode made.
func (h *Host) RemoveDeviceNode(name string) error {
	err := h.folder.Update(func(tx *Tx) error {
		channel, err := channelOf(name)
		if err != nil {
			return err
		}
		return tx.SetIMEXChannel(channel, false)
	})
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return &fs.PathError{Op: "remove", Path: name, Err: errno}
	}
	return err
}

func channelOf(name string) (int, error) {
	number, ok := strings.CutPrefix(name, "dev/nvidia-caps-imex-channels/channel")
	channel, err := strconv.Atoi(number)
	if !ok || err != nil || fmt.Sprint(channel) != number {
		return 0, syscall.EPERM
	}
	return channel, nil
}

func (tx *Tx) makeChannel(name string, node hardware.DeviceNode) error {
	channel, err := channelOf(name)
	if err != nil {
		return err
	}
	if node != surface.IMEXChannel(channel) {
		return syscall.EPERM
	}
	return tx.SetIMEXChannel(channel, true)
}
