package localcluster

import "syscall"

// childAttributes: a child dies with its parent, and is in a process group of its
// own, so that Ctrl-C in a terminal reaches the parent alone, which stops the
// children in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
