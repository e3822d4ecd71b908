//go:build !linux

package localcluster

import "syscall"

// childAttributes: elsewhere than on Linux a child outlives a parent that is killed;
// the folder stays locked until it is ended too.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
