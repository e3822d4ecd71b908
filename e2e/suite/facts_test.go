package suite

import "flag"

// facts are what the suite must know of a cluster.
var facts struct {
	driver, gpuClass, migClass, image, keep, pluginResource string
	binary                                                  string
	kind, kindTool, kindImage                               string
	kindKeep                                                bool
	pods                                                    int
}

func init() {
	flag.StringVar(&facts.driver, "driver-name", "gpu.dray.dev", "name of the DRA driver")
	flag.StringVar(&facts.gpuClass, "gpu-class", "gpu.dray.dev", "DeviceClass of whole GPUs")
	flag.StringVar(&facts.migClass, "mig-class", "mig.dray.dev", "DeviceClass of MIG partitions")
	flag.StringVar(&facts.image, "image", "busybox:1.37", "image of containers, with sh and sleep")
	flag.StringVar(&facts.pluginResource, "plugin-resource", "", "extended resource that nodes have by a device plugin, two of each")
	flag.IntVar(&facts.pods, "pods", 200, "how many pods are made at once")
	flag.StringVar(&facts.keep, "keep", "", "folder for what is left of failures; a temporary one if empty")
	flag.StringVar(&facts.kind, "kind", "", "the program kind: run the suite on a kind cluster of its own")
	flag.StringVar(&facts.kindTool, "kind-tool", "docker", "the container engine's program: docker or podman")
	flag.StringVar(&facts.kindImage, "kind-image", "", "image of kind's nodes; kind's own choice if empty")
	flag.BoolVar(&facts.kindKeep, "kind-keep", false, "keep the kind cluster when the suite is over")
	flag.StringVar(&facts.binary, "dray-local", "", "the program dray-local: run the suite on a local cluster of its own")
}
