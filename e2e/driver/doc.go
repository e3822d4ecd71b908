// Package driver tests Dray's driver as a process: dray-kubeletplugin-sim over a
// hardware folder, with a real API server on one side and a kubelet on the other. For
// most tests that is a client that calls as a kubelet does (kubelet_test.go), because
// it can see each answer; for the rest it is the kubelet's own code, package hollow
// (peer_test.go, sequences_test.go).
//
// The driver is this test's own binary, started anew, so that it can be killed before
// any of its steps. What is checked is what others see: ResourceSlices, claims, pods, CDI
// files, the GPUs of the folder.
package driver
