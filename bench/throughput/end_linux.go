package throughput

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a sample whose parent ends, with its etcd.
func endWithParent(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGKILL) }
}
