package localcluster

import "context"

// DefaultControllers are the controllers of the controller manager that run unless
// [Options.Controllers] says otherwise: those that pods with claims meet, and those
// that make pods.
func DefaultControllers() []string {
	return []string{
		"resourceclaim-controller", "device-taint-eviction-controller",
		"node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller",
		"garbage-collector-controller", "namespace-controller",
		"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
		"deployment-controller", "replicaset-controller", "daemonset-controller", "job-controller",
		// Without it a PodGroup, which a Job makes where GenericWorkload is on, is never
		// gone, nor is its namespace.
		"podgroup-protection-controller",
	}
}

func controllerFlags(_ context.Context, c *Cluster) ([]string, error) {
	kubeconfig, err := c.writeKubeconfig(userControllers)
	if err != nil {
		return nil, err
	}
	controllers := c.options.Controllers
	if controllers == nil {
		controllers = DefaultControllers()
	}
	flags := append(c.servingFlags(ControllerManager),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false", // the folder's lock sees to it that there is one
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.dir.pki("tokens.key"),
		"--root-ca-file="+c.dir.pki("ca.crt"),
		"--controllers="+commas(controllers),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
	return append(flags, gateFlags(c.options.FeatureGates)...), nil
}
