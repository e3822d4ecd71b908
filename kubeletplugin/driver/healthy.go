package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Healthy asks the driver's own sockets, as the kubelet would.
func (d *Driver) Healthy(ctx context.Context) error {
	registration, service := d.sockets()
	err := dial(registration, func(connection *grpc.ClientConn) error {
		info, err := registerapi.NewRegistrationClient(connection).GetInfo(ctx, &registerapi.InfoRequest{})
		if err == nil && info.Name != d.options.Name {
			err = fmt.Errorf("it is of driver %q", info.Name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("registration socket %s: %w", registration, err)
	}
	err = dial(service, func(connection *grpc.ClientConn) error {
		_, err := drav1.NewDRAPluginClient(connection).NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{})
		return err
	})
	if err != nil {
		return fmt.Errorf("driver's socket %s: %w", service, err)
	}
	return nil
}

// sockets are where the helper puts them.
func (d *Driver) sockets() (registration, service string) {
	o := &d.options
	if o.PodUID == "" {
		return filepath.Join(o.Folders.Registry, o.Name+"-reg.sock"), filepath.Join(o.Folders.Plugin, "dra.sock")
	}
	return filepath.Join(o.Folders.Registry, kubeletplugin.RollingUpdateRegistrarSocketFile(o.Folders.Registry, o.Name, o.PodUID)),
		filepath.Join(o.Folders.Plugin, "dra-"+string(o.PodUID)+".sock")
}

// longestSocket is how long the path of a socket can be, in bytes.
const longestSocket = 107

// checkSockets fails early where the system would say no more than that an argument
// is invalid.
func (d *Driver) checkSockets() error {
	registration, service := d.sockets()
	for _, path := range []string{registration, service} {
		if len(path) > longestSocket {
			return fmt.Errorf("socket %s: its path has %d bytes and can have %d: the kubelet's folder must have a shorter name",
				path, len(path), longestSocket)
		}
	}
	return nil
}

func dial(socket string, call func(*grpc.ClientConn) error) (err error) {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	return call(connection)
}
