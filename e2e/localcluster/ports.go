package localcluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"
)

// loopback is the only address that anything listens on.
const loopback = "127.0.0.1"

// etcdPeer names the port of etcd's other protocol, which no server here uses.
const etcdPeer Role = "etcd-peer"

// ErrPortTaken: a port that was asked for is in use by another program.
var ErrPortTaken = errors.New("the port is in use by another program: free it or ask for another")

// choosePorts completes the ports of a cluster: the API server's as wanted, if it is
// not 0, each other one as before if it is free, and otherwise any. It says whether
// the API server's is another one than before.
//
// Between the choice and the server's start another program may take one; the
// server then fails to start, with the reason in its log.
func choosePorts(ports map[Role]int, wanted int) (moved bool, err error) {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	for _, of := range append(slices.DeleteFunc(Roles(), func(of Role) bool { return !of.hasPort() }), etcdPeer, schedulerExplain) {
		before := ports[of]
		ask := before
		if of == APIServer && wanted != 0 {
			ask = wanted
		}
		listener, err := listen(ask)
		if errors.Is(err, syscall.EADDRINUSE) && ask != 0 {
			if of == APIServer && wanted != 0 {
				return false, fmt.Errorf("port %d of %s: %w", wanted, of, ErrPortTaken)
			}
			listener, err = listen(0)
		}
		if err != nil {
			return false, fmt.Errorf("find a port for %s: %w", of, err)
		}
		held = append(held, listener)
		ports[of] = listener.Addr().(*net.TCPAddr).Port
		moved = moved || of == APIServer && before != 0 && before != ports[of]
	}
	return moved, nil
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
}
