package localcluster

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"strconv"

	"sigs.k8s.io/yaml"
)

// shippedConfig is deploy/scheduler/config.yaml; a test compares them, since a
// program cannot embed a file of another directory.
//
//go:embed scheduler.yaml
var shippedConfig []byte

// schedulerFlags runs the scheduler as docs/scheduler.md says it is to be run: as a
// ServiceAccount that has the roles named there and no other.
func schedulerFlags(ctx context.Context, c *Cluster) ([]string, error) {
	token, err := c.schedulerToken(ctx)
	if err != nil {
		return nil, err
	}
	server := c.url(APIServer, "")
	direct, err := c.writeTokenKubeconfig("dray-scheduler-direct", server, token)
	if err != nil {
		return nil, err
	}
	if c.options.SchedulerServer != "" {
		server = c.options.SchedulerServer
	}
	kubeconfig, err := c.writeTokenKubeconfig("dray-scheduler", server, token)
	if err != nil {
		return nil, err
	}
	config, err := c.writeSchedulerConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	flags := append(c.servingFlags(Scheduler),
		"--config="+config,
		"--v="+strconv.Itoa(c.options.SchedulerVerbosity),
		// Who may read its metrics is not the scheduler's work, so it is not asked
		// of the server that the scheduler is given.
		"--authentication-kubeconfig="+direct,
		"--authorization-kubeconfig="+direct,
	)
	if !c.options.LeaderElection {
		flags = append(flags, "--leader-elect=false")
	}
	return append(flags, gateFlags(c.options.FeatureGates)...), nil
}

// writeSchedulerConfig writes the configuration with the kubeconfig in it:
// kube-scheduler takes that from nowhere else.
func (c *Cluster) writeSchedulerConfig(kubeconfig string) (string, error) {
	source, content := "the shipped configuration", shippedConfig
	if file := c.options.SchedulerConfig; file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the scheduler's configuration: %w", err)
		}
		source, content = file, read
	}
	var config map[string]any
	if err := yaml.Unmarshal(content, &config); err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	connection, ok := config["clientConnection"].(map[string]any)
	if !ok {
		connection = map[string]any{}
		config["clientConnection"] = connection
	}
	connection["kubeconfig"] = kubeconfig
	serveExplanations(config, net.JoinHostPort(loopback, c.state.port(schedulerExplain)))
	written, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	path := c.dir.path("scheduler.yaml")
	return path, writeFile(path, written)
}
