// Package checkpoint remembers which claims are prepared on this node, and with
// what, so that a driver that was killed at any moment can go on or clean up.
//
//	store, err := checkpoint.NewStore(path, checkpoint.Options{Driver: "gpu.dray.dev", Node: "node-1"})
//	end, err := store.Begin(ctx)   // the file is ours, and what it says is known
//	defer end()
//	err = store.Put(&checkpoint.Claim{...})
//
// # What stays true
//
//  1. A claim is in the checkpoint, as Started, before the first change to the
//     machine is made for it, and until the last one is undone.
//  2. A claim is Completed when all of that is in place. Only then may its devices
//     be handed out.
//  3. The file is replaced as a whole: whoever reads it sees the state before a
//     change or after it, also after a crash (package atomicfile).
//  4. A file that cannot be understood is never replaced. The error says what is
//     wrong and the file stays for somebody to look at: claims in it may have
//     devices that nobody else knows of.
//  5. One process at a time uses the file. Two driver pods live side by side
//     during an update; the second waits in Begin until the first has no call
//     running, and reads the file anew.
//
// # Format
//
// A JSON document with one section for each version of the format:
//
//	{"kind":"dray.dev/checkpoint","versions":{"v1":{"checksum":"sha256:…","content":{…}}}}
//
// A release writes its own version and that of the release before, and reads the
// newest that it knows, so that an update can be taken back. v1 is the first, so
// it is the only one so far. Within a version fields are only added, and readers
// skip those that they do not know. A checksum is of its content's bytes without
// white space.
//
// What a kind of device needs to know is in Device.Plan and Device.Outcome, which
// this package does not look into. Such content follows the same rule.
package checkpoint
