// Package command is kube-scheduler's command with the plugin DrayDynamicResources
// registered, for a program that is dray-scheduler and for one that is it among
// others.
//
//	command.New    the command; it refuses a configuration in which two plugins
//	               could give out one device, or in which pods
//	               could be placed without theirs
//	linked         says which Kubernetes is linked, wherever the program is asked
//
// Not more than one a process: kube-scheduler registers its configuration and its
// metrics with the process.
package command
