module github.com/dray-dev/dray/hwsim

go 1.26.0

require (
	github.com/cockroachdb/datadriven v1.0.3
	github.com/dray-dev/dray/kubeletplugin v0.0.0
	github.com/goccy/go-yaml v1.19.2
	github.com/google/go-cmp v0.7.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/dray-dev/dray/kubeletplugin => ../kubeletplugin
