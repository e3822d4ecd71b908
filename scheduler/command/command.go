package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/dray-dev/dray/scheduler/command/linked"
	"github.com/dray-dev/dray/scheduler/plugin"
)

// New is the command. What main of kube-scheduler links besides, log formats and
// metrics of clients, is left to the program.
func New() *cobra.Command {
	factory := &plugin.Factory{ServeExplanations: true}
	command := app.NewSchedulerCommand(app.WithPlugin(plugin.Name, factory.New))
	command.Use = "dray-scheduler"
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		if flag := command.Flags().Lookup("version"); flag != nil && slices.Contains([]string{"true", "raw"}, flag.Value.String()) {
			_, err := fmt.Fprintln(command.OutOrStdout(), versionLine())
			return err
		}
		file, err := command.Flags().GetString("config")
		if err != nil {
			return err
		}
		if err := checkConfig(file); err != nil {
			return err
		}
		if linked.Err != nil {
			return linked.Err
		}
		err = run(command, args)
		if clientcmd.IsEmptyConfig(err) {
			return fmt.Errorf("--config %s: clientConnection.kubeconfig is empty, and this is no pod of a cluster: "+
				"write the path of a kubeconfig there, since --kubeconfig and KUBECONFIG are not read beside --config: %w", file, err)
		}
		return err
	}
	return command
}

// errNoConfig: without a file, kube-scheduler's defaults enable its own plugin.
var errNoConfig = errors.New("no --config: kube-scheduler's default configuration enables DynamicResources; " +
	"give a file that disables it and enables " + plugin.Name + ", such as deploy/scheduler/config.yaml")

// checkConfig refuses a configuration with which two plugins could give one device
// to two pods, as what one has in flight the other does not see, or with which pods
// could be placed without their devices.
func checkConfig(file string) error {
	if file == "" {
		return errNoConfig
	}
	loaded, err := options.LoadConfigFromFile(klog.Background(), file)
	if err != nil {
		return fmt.Errorf("read --config %s: %w", file, err)
	}
	for i := range loaded.Profiles {
		if err := checkProfile(&loaded.Profiles[i]); err != nil {
			return fmt.Errorf("--config %s: profile %s: %w", file, loaded.Profiles[i].SchedulerName, err)
		}
	}
	return nil
}

// checkProfile wants the plugin in the profile, whole, and no other that gives out
// devices. A profile without either would bind pods with claims without their
// devices, and nothing keeps such pods from naming it: each has to have the plugin.
func checkProfile(profile *config.KubeSchedulerProfile) error {
	listed := enabled(profile)
	if slices.Contains(listed, names.DynamicResources) {
		return fmt.Errorf("enables the plugin DynamicResources, which would give out devices beside %s: "+
			"add {name: DynamicResources} to plugins.multiPoint.disabled of the profile and enable %s instead", plugin.Name, plugin.Name)
	}
	if !slices.Contains(listed, plugin.Name) {
		return fmt.Errorf("does not enable the plugin %s, so pods with claims that name this profile would be placed without their devices: "+
			"add {name: %s} to plugins.multiPoint.enabled", plugin.Name, plugin.Name)
	}
	if slices.ContainsFunc(profile.PluginConfig, func(c config.PluginConfig) bool { return c.Name == names.DynamicResources }) {
		return fmt.Errorf("has arguments for the plugin DynamicResources, which it does not enable: move them to {name: %s, args: {...}} of pluginConfig, "+
			"with apiVersion %s and kind %s", plugin.Name, plugin.APIVersion, plugin.Kind)
	}
	if name, found := unknownArguments(profile); found {
		return fmt.Errorf("has arguments for the plugin %s in pluginConfig, but there is none of that name, so they would have no effect: "+
			"correct the name, which for the plugin of this scheduler is %s, or remove them", name, plugin.Name)
	}
	if points := withoutPlugin(profile); len(points) > 0 {
		return fmt.Errorf("enables the plugin %s, but not at %s, so devices could be given out twice or not at all: "+
			"add {name: %s} to plugins.multiPoint.enabled, and disable it nowhere", plugin.Name, strings.Join(points, ", "), plugin.Name)
	}
	return nil
}

// unknownArguments is the name of a plugin that this program does not have and the
// profile has arguments for. kube-scheduler passes over such arguments without a word.
func unknownArguments(profile *config.KubeSchedulerProfile) (name string, found bool) {
	known := plugins.NewInTreeRegistry()
	for _, c := range profile.PluginConfig {
		if _, inTree := known[c.Name]; !inTree && c.Name != plugin.Name {
			return c.Name, true
		}
	}
	return "", false
}

// withoutPlugin lists the extension points, of those that allocation cannot do
// without, at which the profile does not run the plugin. A point's own lists come
// before those of multiPoint.
func withoutPlugin(profile *config.KubeSchedulerProfile) []string {
	has := func(listed []config.Plugin, wanted ...string) bool {
		return slices.ContainsFunc(listed, func(p config.Plugin) bool { return slices.Contains(wanted, p.Name) })
	}
	everywhere := has(profile.Plugins.MultiPoint.Enabled, plugin.Name)
	var points []string
	for _, point := range []struct {
		name string
		set  config.PluginSet
	}{
		{"preFilter", profile.Plugins.PreFilter},
		{"filter", profile.Plugins.Filter},
		{"reserve", profile.Plugins.Reserve},
		{"preBind", profile.Plugins.PreBind},
	} {
		if !has(point.set.Enabled, plugin.Name) && (!everywhere || has(point.set.Disabled, plugin.Name, "*")) {
			points = append(points, point.name)
		}
	}
	return points
}

// enabled lists the names of all plugins that the profile enables somewhere.
func enabled(profile *config.KubeSchedulerProfile) []string {
	if profile.Plugins == nil {
		return nil
	}
	names := profile.Plugins.Names()
	// Names leaves out these two.
	for _, set := range []config.PluginSet{profile.Plugins.MultiPoint, profile.Plugins.PodGroupPostFilter} {
		for _, plugin := range set.Enabled {
			names = append(names, plugin.Name)
		}
	}
	return names
}
