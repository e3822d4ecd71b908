package driver_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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

// kubelet waits until a driver has registered and can be called. With several, that of
// a pod's UID is called.
func (n *node) kubelet(podUID ...string) *kubelet {
	n.t.Helper()
	var k *kubelet
	n.eventually("registration", func() (err error) {
		k, err = n.register(podUID...)
		return err
	})
	n.t.Cleanup(func() { k.connection.Close() })
	return k
}

// kubeletUnless waits for the same, until the driver is dead.
func (n *node) kubeletUnless(dead <-chan struct{}) (k *kubelet, ok bool) {
	ok = unless(dead, func() (err error) {
		k, err = n.register()
		return err
	})
	if ok {
		n.t.Cleanup(func() { k.connection.Close() })
	}
	return k, ok
}

// publishedUnless waits for a device, until the driver is dead.
func (n *node) publishedUnless(dead <-chan struct{}, device string) bool {
	return unless(dead, func() error { return n.pool(hasDevice(device)) })
}

// unless asks until there is no error, or the driver is dead: then it is false.
func unless(dead <-chan struct{}, ask func() error) bool {
	for ask() != nil {
		select {
		case <-dead:
			return false
		case <-time.After(pollTime):
		}
	}
	return true
}

// sockets are those by which drivers register.
func (n *node) sockets(podUID ...string) []string {
	sockets, _ := filepath.Glob(filepath.Join(n.kubeletRoot(), "plugins_registry", "*"+strings.Join(podUID, "")+"*.sock"))
	return sockets
}

// register does what the kubelet does with a socket.
func (n *node) register(podUID ...string) (*kubelet, error) {
	sockets := n.sockets(podUID...)
	if len(sockets) == 0 {
		return nil, errors.New("there is no socket")
	}
	registration, err := connect(sockets[len(sockets)-1])
	if err != nil {
		return nil, err
	}
	defer registration.Close()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	client := registerapi.NewRegistrationClient(registration)
	info, err := client.GetInfo(ctx, &registerapi.InfoRequest{})
	if err != nil {
		return nil, err
	}
	if info.Name != driverName || info.Type != registerapi.DRAPlugin || !slices.Contains(info.SupportedVersions, drav1.DRAPluginService) {
		return nil, fmt.Errorf("it says %v", info)
	}
	if _, err := client.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
		return nil, err
	}
	k := &kubelet{n: n}
	if k.connection, err = connect(info.Endpoint); err != nil {
		return nil, err
	}
	k.DRAPluginClient, k.health = drav1.NewDRAPluginClient(k.connection), healthv1.NewDRAResourceHealthClient(k.connection)
	if _, err = k.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{}); err != nil {
		k.connection.Close()
		return nil, err
	}
	return k, nil
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
