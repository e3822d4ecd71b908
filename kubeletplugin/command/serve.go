package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// serveMetrics serves them until the context ends.
func serveMetrics(ctx context.Context, port int, registry metrics.KubeRegistry) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics.HandlerFor(registry, metrics.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	listener, err := listen(ctx, port)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

func listen(ctx context.Context, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", port))
}

// health answers whether all drivers serve their kubelets.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	drivers []*running
}

// services that can be asked for: the process as a whole.
var services = []string{"", "liveness", "readiness"}

// Check implements the health service.
func (h *health) Check(ctx context.Context, request *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	known := false
	for _, service := range services {
		known = known || request.GetService() == service
	}
	if !known {
		return nil, status.Errorf(codes.NotFound, "there is no service %q", request.GetService())
	}
	for _, driver := range h.drivers {
		if err := driver.healthy(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The driver is not healthy", "node", driver.node.Name)
			return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, nil
		}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// serveHealth serves it until the context ends.
func serveHealth(ctx context.Context, port int, drivers []*running) error {
	listener, err := listen(ctx, port)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, &health{drivers: drivers})
	go func() {
		<-ctx.Done()
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}
