// Package prepare gives allocated devices to claims and takes them back: what
// the kubelet asks a driver for before the first container of a pod starts and
// after the last one has ended.
//
//	preparer, err := prepare.New(prepare.Options{...})
//	err = preparer.Start(ctx)                      // once, cleans up after a kill
//	devices, err := preparer.Prepare(ctx, claim)   // devices with their CDI IDs
//	err = preparer.Unprepare(ctx, uid)
//
// Prepare computes a plan from the claim's allocation, its configuration and the
// hardware as it is; writes the claim to the checkpoint as started; makes the
// changes to the machine; writes the CDI file; and writes the claim as completed.
// Unprepare goes the other way and needs the checkpoint alone, because the claim
// may be gone.
//
// What a device is, and what must be done for it, is a Kind's matter. The first
// ones are package nvidia's. A new kind of device is a package like that one, and
// a type of configuration in package api.
//
// # What stays true
//
//  1. Nothing on the machine is changed for a claim that is not in the checkpoint.
//     So whatever was left by a kill is known, and Start undoes it.
//  2. Devices are handed out only for a claim that is completed there, whose
//     changes were verified in this call or made by it.
//  3. Both calls can be repeated, and killed anywhere and repeated, and end in the
//     same state. Prepare keeps what it finds in order, such as after a restart of
//     the kubelet. What is not in order, as after a reboot or a reset, it undoes
//     and makes anew.
//  4. A prepare that fails leaves nothing behind: it undoes what it did. Where that
//     fails as well, the claim stays in the checkpoint with what is left.
//  5. Parts of the hardware are held by one claim at a time (Holds), except by
//     shares of one device with different share IDs. Who comes second is refused,
//     with both claims named (HeldError). Access for administrators holds nothing,
//     takes nothing from others and changes nothing on the machine.
//  6. What this driver did not make it does not destroy. That it made something it
//     knows by the checkpoint. The one doubt: if the driver was killed while it made
//     something and could not write down which, then what lies exactly there is
//     taken for its own, because there was nothing before.
//  7. Calls about one claim, or about the same hardware, follow each other; others
//     run side by side. Calls of two processes follow each other as a whole
//     (checkpoint.Store).
//
// # What is where
//
//	preparer.go  Preparer: the two calls and their order
//	plan.go      the pure part: allocation and configuration → claim to be
//	conflict.go  who may not hold what at the same time
//	effects.go   changes, their reversal and what failed half-way
//	kind.go      Kind; typed.go lets a kind have types instead of JSON
//	keylock.go   who waits for whom
package prepare
