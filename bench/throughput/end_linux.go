package throughput

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a sample whose parent ends. Its etcd is in the same
// process group, for endAll.
func endWithParent(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGKILL) }
}

// endAll ends what a sample that has ended may have left.
func endAll(child *exec.Cmd) {
	if child.Process != nil {
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL) // fails where nothing is left
	}
}
