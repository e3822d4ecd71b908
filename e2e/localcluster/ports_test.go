package localcluster

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
)

// takenPort is one that another program listens on.
func takenPort(t *testing.T) int {
	t.Helper()
	listener, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

func TestAPortThatWasAskedForAndIsTakenIsNamed(t *testing.T) {
	port := takenPort(t)
	_, err := choosePorts(map[Role]int{}, port)
	if !errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), strconv.Itoa(port)) {
		t.Errorf("got %v", err)
	}
}

func TestPortsStayUnlessTaken(t *testing.T) {
	ports := map[Role]int{}
	if moved, err := choosePorts(ports, 0); err != nil || moved {
		t.Fatal(moved, err)
	}
	seen := map[int]bool{}
	for _, of := range append(Roles(), etcdPeer, schedulerExplain) {
		if of == Driver {
			continue
		}
		if seen[ports[of]] || ports[of] == 0 {
			t.Errorf("%v", ports)
		}
		seen[ports[of]] = true
	}
	api := ports[APIServer]
	if moved, err := choosePorts(ports, 0); err != nil || moved || ports[APIServer] != api {
		t.Errorf("the API server's port went from %d to %d: %v, %v", api, ports[APIServer], moved, err)
	}
	ports[APIServer] = takenPort(t)
	if moved, err := choosePorts(ports, 0); err != nil || !moved {
		t.Errorf("the port is taken by another: %v, %v", moved, err)
	}
}
