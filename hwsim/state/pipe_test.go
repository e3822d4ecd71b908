//go:build unix

package state_test

import "golang.org/x/sys/unix"

func makePipe(name string) error { return unix.Mkfifo(name, 0o600) }
