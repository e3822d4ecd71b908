package server

import "go.etcd.io/etcd/server/v3/etcdmain"

// runEtcd does not return: etcd ends the process itself.
func runEtcd(flags []string) int {
	etcdmain.Main(append([]string{"etcd"}, flags...))
	return 0
}
