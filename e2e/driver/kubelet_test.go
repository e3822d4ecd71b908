package driver_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	resourceapi "k8s.io/api/resource/v1"
	healthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// kubelet calls a driver as the kubelet does, by the socket that it registers with.
type kubelet struct {
	n          *node
	connection *grpc.ClientConn
	drav1.DRAPluginClient
	health healthv1.DRAResourceHealthClient
}

func connect(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// kubelet waits until a driver has registered and can be called.
func (n *node) kubelet() *kubelet {
	n.t.Helper()
	k := &kubelet{n: n}
	n.eventually("registration", func() error {
		sockets, _ := filepath.Glob(n.path("k", "plugins_registry", "*.sock"))
		if len(sockets) == 0 {
			return errors.New("there is no socket")
		}
		registration, err := connect(sockets[len(sockets)-1])
		if err != nil {
			return err
		}
		defer registration.Close()
		ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
		defer cancel()
		client := registerapi.NewRegistrationClient(registration)
		info, err := client.GetInfo(ctx, &registerapi.InfoRequest{})
		if err != nil {
			return err
		}
		if info.Name != driverName || info.Type != registerapi.DRAPlugin || !slices.Contains(info.SupportedVersions, drav1.DRAPluginService) {
			return fmt.Errorf("it says %v", info)
		}
		if _, err := client.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
			return err
		}
		if k.connection, err = connect(info.Endpoint); err != nil {
			return err
		}
		k.DRAPluginClient, k.health = drav1.NewDRAPluginClient(k.connection), healthv1.NewDRAResourceHealthClient(k.connection)
		_, err = k.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{})
		return err
	})
	n.t.Cleanup(func() { k.connection.Close() })
	return k
}

// prepare prepares one claim.
func (k *kubelet) prepare(ctx context.Context, claim *resourceapi.ResourceClaim) ([]*drav1.Device, error) {
	response, err := k.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: []*drav1.Claim{
		{Namespace: claim.Namespace, Name: claim.Name, Uid: string(claim.UID)}}})
	if err != nil {
		return nil, err
	}
	answer := response.Claims[string(claim.UID)]
	if answer == nil {
		return nil, errors.New("the claim is not in the response")
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Devices, nil
}

// unprepare takes one claim back.
func (k *kubelet) unprepare(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	response, err := k.NodeUnprepareResources(ctx, &drav1.NodeUnprepareResourcesRequest{Claims: []*drav1.Claim{
		{Namespace: claim.Namespace, Name: claim.Name, Uid: string(claim.UID)}}})
	if err != nil {
		return err
	}
	answer := response.Claims[string(claim.UID)]
	if answer == nil {
		return errors.New("the claim is not in the response")
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
