// Package driver tests Dray's driver as a process: dray-kubeletplugin-sim over a
// hardware folder, with a real API server on one side and a client that calls as the
// kubelet does on the other.
//
// The driver is this test's own binary, started anew, so that it can be killed before
// any of its steps. What is checked is what others see: ResourceSlices, claims, CDI
// files, the GPUs of the folder.
package driver
