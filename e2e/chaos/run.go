package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/dray-dev/dray/e2e/localcluster"
)

// run is one run, while it goes on.
type run struct {
	options Options
	journal *journal
	cluster *localcluster.Cluster
	proxy   *proxy
	witness *witness
	keeper  *keeper
	actor   *actor
	kills   int
	marks   int
}

// controllers are those of the controller manager that chaos needs. Node lifecycle
// is not among them: nodes have no kubelets that would renew leases.
var controllers = []string{"resourceclaim-controller", "garbage-collector-controller", "pod-garbage-collector-controller", "serviceaccount-controller"}

// Run runs once. An error means that the run could not be made, or that the report
// is not what it must be.
func Run(ctx context.Context, options Options) (*Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		Dir: options.Dir, Binary: options.Binary, Controllers: controllers, SchedulerVerbosity: options.Verbosity, FeatureGates: options.FeatureGates,
		Roles: []localcluster.Role{localcluster.Etcd, localcluster.APIServer, localcluster.ControllerManager},
	})
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	journal, err := openJournal(filepath.Join(options.Dir, "log", "chaos.log"), options.Progress)
	if err != nil {
		return nil, err
	}
	defer journal.close()
	go func() {
		select {
		case err := <-cluster.Exited():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	r := &run{options: options, journal: journal, cluster: cluster}
	report, err := r.run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return report, err
}

func (r *run) run(ctx context.Context) (*Report, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	address, stop, err := r.proxy.serve(r.cluster.ServingCertificate())
	if err != nil {
		return nil, err
	}
	defer stop()
	r.cluster.SetSchedulerServer(address)
	if err := r.cluster.StartRole(ctx, localcluster.Scheduler); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := r.disturb(ctx); err != nil {
		return nil, err
	}
	r.journal.say("%d kills in %.0f s; now everything that can be placed must be", r.kills, time.Since(began).Seconds())
	report := &Report{}
	if err := r.settle(ctx, report); err != nil {
		return nil, err
	}
	r.count(report)
	return report, report.problem()
}

// prepare makes the cluster's objects, and who looks at them.
func (r *run) prepare(ctx context.Context) error {
	config, err := r.cluster.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	authority := rest.AnonymousClientConfig(config)
	tlsConfig, err := rest.TLSConfigFor(authority)
	if err != nil {
		return err
	}
	if r.proxy, err = newProxy(r.cluster.Server(), tlsConfig, r.random(1), r.journal); err != nil {
		return err
	}
	r.actor = &actor{client: client, journal: r.journal, rand: r.random(2), options: r.options, lost: map[string]bool{}}
	if err := r.actor.build(ctx); err != nil {
		return fmt.Errorf("make the cluster's objects: %w", err)
	}
	if r.witness, err = startWitness(ctx, client, r.journal); err != nil {
		return err
	}
	if r.keeper, err = startKeeper(ctx, client, r.journal); err != nil {
		return err
	}
	r.actor.keeper = r.keeper
	return nil
}

// random is one of the run's independent sequences.
func (r *run) random(sequence uint64) *rand.Rand {
	return rand.New(rand.NewPCG(r.options.Seed, sequence))
}

// disturb is the chaos: the actor acts, calls fail, the scheduler is killed. The last
// scheduler lives on among it for a while: what it then has wrong in its memory no
// restart repairs before it is looked at.
func (r *run) disturb(ctx context.Context) error {
	acting, stop := context.WithCancel(ctx)
	defer stop()
	acted := make(chan error, 1)
	go func() {
		err := r.actor.run(acting)
		stop()
		acted <- err
	}()
	r.proxy.setFaulty(true)
	killing, enough := context.WithTimeout(acting, r.options.Duration)
	defer enough()
	random := r.random(3)
	for r.kills < r.options.Kills && killing.Err() == nil {
		if err := r.killOnce(ctx, killing, random); err != nil {
			return err
		}
	}
	r.proxy.arm(nil)
	select {
	case <-time.After(r.options.Aftermath):
	case <-acting.Done():
	}
	stop()
	r.proxy.setFaulty(false)
	if err := <-acted; err != nil {
		return fmt.Errorf("the actor: %w", err)
	}
	return nil
}

// killWait is how long a drawn call may take to come before another is drawn.
const killWait = 8 * time.Second

// killOnce kills the scheduler at a drawn call, starts it again, and looks at what
// the API server has seen.
func (r *run) killOnce(ctx, killing context.Context, random *rand.Rand) error {
	death := &kill{
		writes: random.IntN(4) > 0, after: random.IntN(2) == 0,
		how:  func() { _ = r.cluster.Kill(localcluster.Scheduler) },
		done: make(chan string, 1),
	}
	death.in = 1 + random.IntN(60)
	if death.writes {
		death.in = 1 + random.IntN(25)
	}
	r.proxy.arm(death)
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case call := <-death.done:
		r.kills++
		r.journal.say("kill %d: %s", r.kills, call)
	case <-timer.C:
		r.journal.note("the call did not come; another is drawn")
		return nil
	case <-killing.Done():
		return nil
	}
	r.proxy.drain()
	if err := r.cluster.StartRole(ctx, localcluster.Scheduler); err != nil {
		return err
	}
	return r.look(ctx)
}

// look brings the witness up to date and fails if it has seen what must not be.
func (r *run) look(ctx context.Context) error {
	r.marks++
	if err := r.witness.catchUp(ctx, fmt.Sprint(r.marks)); err != nil {
		return err
	}
	_, wrong, broken := r.keeper.state()
	twice, changed := r.witness.wrong()
	var err error
	for _, list := range [][]string{twice, changed, wrong} {
		for _, text := range list {
			err = errors.Join(err, errors.New(text))
		}
	}
	return errors.Join(err, broken)
}
