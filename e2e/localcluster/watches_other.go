//go:build !linux

package localcluster

// ServerWatches is how many inotify instances the servers use: there are none here.
const ServerWatches = 0

// nodeWatches is how many a hollow node and its driver use.
const nodeWatches = 0

// CheckWatches has nothing to check where there is no inotify.
func CheckWatches(int) error { return nil }
