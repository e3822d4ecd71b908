package driver

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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

func dial(socket string, call func(*grpc.ClientConn) error) (err error) {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	return call(connection)
}
