// Package kubectl runs kubectl's own commands in this process, where each would take a
// process some tenths of a second to begin: those that documents use most, and with
// what it has learnt of the API server kept from one to the next.
//
//	New              for a cluster
//	Kubectl.Builtin  a command line of a document, if it is one of ours
//
// It is the code of kubectl at the version that the project is built with, called with
// the arguments that are shown: get, apply and delete. What is more than a kubectl and
// its arguments, such as a pipe or a variable, is not ours, and the shell's.
package kubectl

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/util"
)

// Kubectl runs commands against a cluster. Its methods may be called at the same time.
type Kubectl struct {
	kubeconfig string
	known      discovery.CachedDiscoveryInterface
	mapper     meta.RESTMapper
}

// New asks the API server of a kubeconfig what it serves; what it comes to serve later
// is not seen.
func New(kubeconfig string) (*Kubectl, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	known := memory.NewMemCacheClient(client.Discovery())
	groups, err := restmapper.GetAPIGroupResources(known)
	if err != nil {
		return nil, fmt.Errorf("ask what the API server serves: %w", err)
	}
	exitByPanic()
	return &Kubectl{kubeconfig: kubeconfig, known: known, mapper: restmapper.NewDiscoveryRESTMapper(groups)}, nil
}

// exit is what kubectl would end its process with.
type exit struct {
	message string
	code    int
}

// exitByPanic lets a command that would end the process end itself.
var exitByPanic = sync.OnceFunc(func() {
	util.BehaviorOnFatal(func(message string, code int) { panic(exit{message, code}) })
})

// Builtin runs a command line if it is a kubectl that this package has, with paths from
// the directory of this process, and says whether it was one. The error is that of a
// command that fails, as of a process that ends with another exit code than 0.
func (k *Kubectl) Builtin(ctx context.Context, line string, out, complaints io.Writer) (ours bool, err error) {
	words, ok := split(line)
	if !ok || len(words) < 2 || words[0] != "kubectl" {
		return false, nil
	}
	command := k.command(out, complaints)
	if found, _, err := command.Find(words[1:]); err != nil || found == command {
		return false, nil
	}
	command.SetArgs(words[1:])
	done := make(chan error, 1)
	go func() { done <- execute(ctx, command, complaints) }()
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done(): // not all of kubectl listens to it
		return true, ctx.Err()
	}
}

func execute(ctx context.Context, command *cobra.Command, complaints io.Writer) (err error) {
	defer func() {
		switch how := recover().(type) {
		case nil:
		case exit:
			if how.message != "" {
				fmt.Fprintln(complaints, strings.TrimRight(how.message, "\n"))
			}
			if how.code != 0 {
				err = fmt.Errorf("exit status %d", how.code)
			}
		default:
			panic(how)
		}
	}()
	return command.ExecuteContext(ctx)
}

func (k *Kubectl) command(out, complaints io.Writer) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(false)
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.WarningHandler = rest.NewWarningWriter(complaints, rest.WarningWriterOptions{Deduplicate: true})
		return config
	}
	root := &cobra.Command{Use: "kubectl", SilenceUsage: true}
	kubeconfig := k.kubeconfig // each command's own: flags write to it
	flags.KubeConfig = &kubeconfig
	flags.AddFlags(root.PersistentFlags())
	factory := util.NewFactory(util.NewMatchVersionFlags(&getter{flags, k}))
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: complaints}
	root.AddCommand(get.NewCmdGet("kubectl", factory, streams), apply.NewCmdApply("kubectl", factory, streams), delete.NewCmdDelete(factory, streams))
	root.SetOut(out)
	root.SetErr(complaints)
	return root
}

// getter knows already what the API server serves.
type getter struct {
	*genericclioptions.ConfigFlags
	of *Kubectl
}

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.of.known, nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewShortcutExpander(g.of.mapper, g.of.known, nil), nil
}
