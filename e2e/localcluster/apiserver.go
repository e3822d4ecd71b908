package localcluster

import "context"

// serviceRange is where Services get addresses; nothing routes there.
const serviceRange = "10.96.0.0/16"

// frontProxy is the name of the one client that may speak for others.
const frontProxy = "dray-local-front-proxy"

func apiserverFlags(_ context.Context, c *Cluster) ([]string, error) {
	flags := append(c.servingFlags(APIServer),
		"--etcd-servers="+c.url(Etcd, ""),
		"--etcd-cafile="+c.dir.pki("ca.crt"),
		"--etcd-certfile="+c.dir.pki("etcd-client.crt"),
		"--etcd-keyfile="+c.dir.pki("etcd-client.key"),
		// The Service "kubernetes" would need an address that is not loopback.
		"--advertise-address="+loopback,
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+serviceRange,
		"--client-ca-file="+c.dir.pki("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		// How it reaches kubelets, for the logs of containers.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority="+c.dir.pki("ca.crt"),
		"--kubelet-client-certificate="+c.dir.pki("admin.crt"),
		"--kubelet-client-key="+c.dir.pki("admin.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+c.dir.pki("tokens.key"),
		"--service-account-key-file="+c.dir.pki("tokens.key"),
		"--cert-dir="+c.dir.path("apiserver"),
		// Nothing is behind the API server, but the others ask it whom to believe.
		"--requestheader-client-ca-file="+c.dir.pki("ca.crt"),
		"--requestheader-allowed-names="+frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.dir.pki("front-proxy.crt"),
		"--proxy-client-key-file="+c.dir.pki("front-proxy.key"),
	)
	if c.options.FeatureGates == AllGates {
		flags = append(flags, "--runtime-config=api/all=true")
	} else if c.options.RuntimeConfig != "" {
		flags = append(flags, "--runtime-config="+c.options.RuntimeConfig)
	}
	return append(flags, gateFlags(c.options.FeatureGates)...), nil
}
