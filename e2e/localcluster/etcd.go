package localcluster

import (
	"context"
	"os"
)

// etcdFlags: one member. It does not wait for the disk, which a process that is
// killed does not need; only a machine that loses power loses the last writes.
//
// What it left when it was killed in its first start is no data, and it would never
// become ready with it.
func etcdFlags(_ context.Context, c *Cluster) ([]string, error) {
	if !c.state.Data {
		if err := os.RemoveAll(c.dir.etcd()); err != nil {
			return nil, err
		}
	}
	client, peer := c.url(Etcd, ""), "https://"+loopback+":"+c.state.port(etcdPeer)
	return []string{
		"--name=local",
		"--data-dir=" + c.dir.etcd(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		"--unsafe-no-fsync",
		"--client-cert-auth",
		"--trusted-ca-file=" + c.dir.pki("ca.crt"),
		"--cert-file=" + c.dir.pki("server.crt"),
		"--key-file=" + c.dir.pki("server.key"),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + c.dir.pki("ca.crt"),
		"--peer-cert-file=" + c.dir.pki("server.crt"),
		"--peer-key-file=" + c.dir.pki("server.key"),
		"--log-level=warn",
	}, nil
}

// rememberData says that etcd has been ready once.
func rememberData(c *Cluster) error {
	if c.state.Data {
		return nil
	}
	c.state.Data = true
	return c.state.write(c.dir)
}
