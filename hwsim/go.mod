module github.com/dray-dev/dray/hwsim

go 1.26.0

require github.com/dray-dev/dray/kubeletplugin v0.0.0

replace github.com/dray-dev/dray/kubeletplugin => ../kubeletplugin
