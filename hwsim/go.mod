module github.com/dray-dev/dray/hwsim

go 1.26.0

require (
	github.com/NVIDIA/go-nvlib v0.12.0
	github.com/cockroachdb/datadriven v1.0.3
	github.com/dray-dev/dray/kubeletplugin v0.0.0
	github.com/goccy/go-yaml v1.19.2
	github.com/google/go-cmp v0.7.0
	github.com/jedib0t/go-pretty/v6 v6.9.2
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
	golang.org/x/sys v0.47.0
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/dynamic-resource-allocation v0.37.2
	pgregory.net/rapid v1.3.0
	sigs.k8s.io/yaml v1.6.0
)

replace github.com/dray-dev/dray/kubeletplugin => ../kubeletplugin
