// Package nvidia watches NVIDIA's GPUs.
//
//	watcher := nvidia.New(nvidia.Options{Library: library, Clock: clock})
//
// What it finds, with the taint's key, value and effect, after NVIDIA's driver where
// that has one:
//
//	an XID                     gpu.nvidia.com/xid=CODE                      NoSchedule, or None
//	the GPU is lost            gpu.nvidia.com/gpu-lost                      NoSchedule
//	a reset or reboot is due   gpu.nvidia.com/recovery-action=gpu-reset     NoSchedule
//	it is too hot              gpu.nvidia.com/thermal-slowdown              None
//	it cannot be read          gpu.nvidia.com/unreadable                    NoSchedule, after Patience
//
// XIDs are events, which the library tells once: they are kept until the driver
// starts anew, or until the GPU, which has asked for a reset after one, asks no more.
// Those that end with an application are of the partition that the event names, if it
// names one, and end with it at the latest (xid.go). Everything else is asked for each
// time.
//
// A GPU is lost if the library says so, or if it does not answer after the XID of one
// that has fallen off the bus. Whatever else the library answers instead of what it was
// asked, or if it answers nothing at all, nobody knows how the GPU is: it is what it was,
// the health of its devices is unknown once that lasts, and nothing is evicted. A GPU of
// which it was never read what partitions it has is given to nobody meanwhile.
//
// The watcher keeps what it knew of each GPU, so that the devices stay where pods and
// people look for them. It forgets those that the library says are not there at all.
package nvidia
