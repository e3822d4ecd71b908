package localcluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/dray-dev/dray/hwsim/fleet"
)

// Options say what to run. Only Dir must be given.
type Options struct {
	// Dir is the folder of the cluster. It is made if it is not there.
	Dir string
	// Binary is the program that answers "role NAME FLAGS" with the server; this
	// program if empty.
	Binary string
	// Roles to start; all if nil. The others can be started later.
	Roles []Role
	// Port of the API server; 0 is the one it had before, or any free one.
	Port int
	// FeatureGates for every server: empty for Kubernetes' defaults, [AllGates], or
	// a list as Kubernetes' flag takes it.
	FeatureGates string
	// RuntimeConfig is the API server's --runtime-config, for the APIs that a list of
	// gates needs; AllGates brings its own.
	RuntimeConfig string
	// Controllers to run; [DefaultControllers] if nil.
	Controllers []string
	// SchedulerConfig is a file to use in place of the configuration that Dray
	// ships. Its kubeconfig is replaced.
	SchedulerConfig string
	// SchedulerServer is the address at which the scheduler finds the API server, if
	// not at its own: that of something in between.
	SchedulerServer string
	// SchedulerVerbosity is how much the scheduler logs, as Kubernetes counts: from 0
	// to 10.
	SchedulerVerbosity int
	// LeaderElection makes the scheduler take its lease, as the configuration says.
	// Without it, a scheduler that was killed starts again at once.
	LeaderElection bool
	// Fleet are machines to make nodes of, besides those that are in the folder. Names
	// and labels are as its package has them; Publish follows from Driver.
	Fleet fleet.Spec
	// Driver is how the driver runs on the nodes; nil is as before, or as zero values
	// say for a new cluster.
	Driver *DriverOptions
	// Say is told what happens, a line at a time; nobody if nil.
	Say func(format string, args ...any)
}

// Cluster is a cluster that runs. Its methods may be called from several goroutines;
// calls about the same role come one after the other.
type Cluster struct {
	options Options
	dir     folder
	state   *state
	lock    *os.File
	spawner spawner
	health  *http.Client
	// nodes are the names of the hollow nodes, sorted.
	nodes []string
	// driverRuns counts the driver's processes; under mu.
	driverRuns int

	mu       sync.Mutex
	children map[Role]*child
	// expected are the children that this package itself ends.
	expected map[*child]bool
	exits    chan error
}

// Start starts the cluster in the folder and returns when its servers are ready.
// If it fails, nothing runs. The context ends the start, not the cluster.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Say == nil {
		options.Say = func(string, ...any) {}
	}
	if options.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		options.Binary = self
	}
	dir, err := openFolder(options.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		options: options, dir: dir, lock: lock, spawner: newSpawner(),
		children: map[Role]*child{}, expected: map[*child]bool{}, exits: make(chan error, len(roles)),
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.state, err = readState(c.dir); err != nil {
		return err
	}
	moved, err := choosePorts(c.state.Ports, c.options.Port)
	if err != nil {
		return err
	}
	if moved {
		c.options.Say("the API server's port is another one now, %s; kubeconfigs are written anew", c.state.port(APIServer))
	}
	if err := c.state.setDriver(c.options.Driver); err != nil {
		return err
	}
	if err := c.state.write(c.dir); err != nil {
		return err
	}
	if err := makePKI(c.dir, c.now()); err != nil {
		return err
	}
	if c.health, err = healthClient(c.dir); err != nil {
		return err
	}
	if _, err := c.writeKubeconfig(userAdmin); err != nil {
		return err
	}
	if err := c.dir.turnLogs(); err != nil {
		return err
	}
	if err := c.makeNodes(); err != nil {
		return err
	}
	for _, of := range Roles() {
		if roles[of].onNodes && len(c.nodes) == 0 {
			continue
		}
		if c.options.Roles == nil || slices.Contains(c.options.Roles, of) {
			if err := c.StartRole(ctx, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// StartRole starts a server that does not run and returns when it is ready. One that
// does not become ready does not stay.
func (c *Cluster) StartRole(ctx context.Context, of Role) error {
	return c.startAs(ctx, of, of)
}

// startAs starts another process of a role under a name of its own.
func (c *Cluster) startAs(ctx context.Context, name, of Role) error {
	began := time.Now()
	flags, err := roles[of].prepare(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	server, err := c.spawn(name, of, flags)
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx, server); err != nil {
		c.StopRole(name)
		return err
	}
	if started := roles[of].started; started != nil {
		if err := started(c); err != nil {
			return err
		}
	}
	c.options.Say("%s is ready after %.1f s", of, time.Since(began).Seconds())
	return nil
}

func (c *Cluster) spawn(name, of Role, flags []string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.children[name] != nil {
		return nil, fmt.Errorf("%s runs already", name)
	}
	server, err := c.spawner.start(c.options.Binary, of, flags, c.dir.log(of), c.lock)
	if err != nil {
		return nil, err
	}
	c.children[name] = server
	go func() {
		<-server.ended
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, other := range c.children { // it may have another name by now
			if other == server {
				delete(c.children, name)
			}
		}
		if !c.expected[server] {
			// A reader who does not come loses the later ones: the first is the cause.
			select {
			case c.exits <- server.obituary():
			default:
			}
		}
		delete(c.expected, server)
	}()
	return server, nil
}

// take removes the server from those that run and returns it, nil if it does not.
func (c *Cluster) take(of Role) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	server := c.children[of]
	if server != nil {
		c.expected[server] = true
		delete(c.children, of)
	}
	return server
}

func (*Cluster) now() time.Time { return time.Now() }

// Kill ends a server as a crash would. It is gone when Kill returns.
func (c *Cluster) Kill(of Role) error {
	server := c.take(of)
	if server == nil {
		return fmt.Errorf("%s does not run", of)
	}
	server.kill()
	return nil
}

// StopRole ends a server in order, or kills it if that takes too long.
func (c *Cluster) StopRole(of Role) {
	if server := c.take(of); server != nil {
		server.stop(roles[of].grace)
	}
}

// Stop ends all servers. The folder can be started again.
func (c *Cluster) Stop() {
	for _, of := range slices.Backward(Roles()) {
		c.StopRole(of)
	}
	close(c.spawner)
	_ = c.lock.Close()
}

// Exited tells of servers that ended by themselves, with the end of their logs.
func (c *Cluster) Exited() <-chan error { return c.exits }

// Log is the path of a server's log.
func (c *Cluster) Log(of Role) string { return c.dir.log(of) }

// Server is the address of the API server.
func (c *Cluster) Server() string { return c.url(APIServer, "") }

// ServingCertificate names the files of the certificate and the key that servers of
// the cluster show, for one that stands in between.
func (c *Cluster) ServingCertificate() (cert, key string) {
	return c.dir.pki("server.crt"), c.dir.pki("server.key")
}

// SetSchedulerServer changes [Options.SchedulerServer] for the scheduler's next start.
func (c *Cluster) SetSchedulerServer(address string) { c.options.SchedulerServer = address }
