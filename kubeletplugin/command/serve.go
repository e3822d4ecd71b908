package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
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

// liveness is the service that says whether another process would do better.
const liveness = "liveness"

// services that can be asked for: the process as a whole. It serves if all drivers
// answer their kubelets, and see which hardware there is.
var services = []string{"", liveness, "readiness"}

// blindPatience is how long a driver that cannot see its hardware is alive. Another
// process would know less: it has not seen what there was. But if all that is wrong is
// this process, then that cannot go on forever.
const blindPatience = 5 * time.Minute

// health answers for all drivers.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	drivers []*running
}

// Check implements the health service.
func (h *health) Check(ctx context.Context, request *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	service := request.GetService()
	if !slices.Contains(services, service) {
		return nil, status.Errorf(codes.NotFound, "there is no service %q", service)
	}
	for _, driver := range h.drivers {
		err := driver.healthy(ctx)
		if err == nil {
			var lasted time.Duration
			if lasted, err = driver.seeing(); service == liveness && lasted < blindPatience {
				err = nil
			}
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "The driver is not healthy", "node", driver.node.Name, "service", service)
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
