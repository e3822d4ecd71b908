package suite

import "flag"

// facts are what the suite must know of a cluster.
var facts struct {
	driver, gpuClass, migClass, image, keep, pluginResource string
	binary                                                  string
}

func init() {
	flag.StringVar(&facts.driver, "driver-name", "gpu.dray.dev", "name of the DRA driver")
	flag.StringVar(&facts.gpuClass, "gpu-class", "gpu.dray.dev", "DeviceClass of whole GPUs")
	flag.StringVar(&facts.migClass, "mig-class", "mig.dray.dev", "DeviceClass of MIG partitions")
	flag.StringVar(&facts.image, "image", "busybox:1.37", "image of containers, with sh and sleep")
	flag.StringVar(&facts.pluginResource, "plugin-resource", "", "extended resource that nodes have by a device plugin, two of each")
	flag.StringVar(&facts.keep, "keep", "", "folder for what is left of failures; a temporary one if empty")
	flag.StringVar(&facts.binary, "dray-local", "", "the program dray-local: run the suite on a local cluster of its own")
}
