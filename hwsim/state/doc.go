// Package state is a simulated machine in a folder: what its hardware is now, kept
// on disk, shared by all who open it. It outlives the driver that uses it, and can
// be changed, booted and broken from outside.
//
//	folder/
//	  hwsim.json   the machine's file, its identity; never changes
//	  state.json   all that changes: one document, replaced as a whole
//	  events/      what happened, a line an event
//	  root/        what a driver takes for "/": sysfs, procfs, device nodes
//	  synced       the transaction that root and events are of
//	  lock         whoever reads shares it, whoever writes has it alone
//
//	Create, Open             the folder; OpenReadOnly where it must stay as it is
//	Folder.View              the machine at one moment
//	Folder.Update            a transaction: Tx has all that can be done to it
//	Folder.Host, GPULibrary  the two interfaces of a driver, over the folder
//	Folder.Events, Follow    what happened, and what happens
//	Connect                  a node gets what a fabric pool has attached to it
//
// # What a folder keeps
//
//  1. A transaction is whole or nothing. It has happened once state.json is renamed
//     into its place, and not before; a refused one has written nothing.
//  2. root and events follow state.json. Who was killed before they did leaves synced
//     behind, and whoever takes the lock next lets them follow, before anybody sees
//     the folder. The document has the events of its transaction for that (Outbox),
//     and root is made from the document alone.
//  3. So a kill between any two writes, and at any point of one, leaves a folder that
//     opens, as it was before the transaction or after it.
//  4. Who looks has the lock shared: no View and no file of Host is of a transaction
//     that is half done. Two Views, or two files, can be of different ones.
//  5. What falls due happens: before anybody looks at a time, everything until that
//     time has happened, whoever was there to see it. No process has to run for a
//     link to come up again. Nor does it take the clock to go on: a folder's time
//     never goes back, and does not wait for a clock that was set back (folderClock).
//  6. A document that is written, or read, is valid on its machine (validate) and can
//     be shown: its node keeps the invariants of hardware.Node, and a driver that
//     discovers the folder finds exactly that node.
//  7. Events are numbered from 1 without gaps, over boots, resets and kills.
//
// state.json and events are synced to the disk before Update returns. root and synced
// are not: after a failure of the machine that hwsim itself runs on, Open compares
// all of root.
//
// # What is where
//
//	folder.go       Create, Open; lock_*.go, clock.go what they need
//	transaction.go  View, Update: loading, committing, following
//	document.go     the document; validate.go what is true of it
//	model.go        what never changes of a machine; node.go document → node and files
//	events.go       the log
//	functions.go    virtual functions, drivers, links, virtual GPUs: what can be set
//	bitstream.go    regions of FPGAs
//	boot.go         reset, reboot, IMEX channels
//	host.go         writes to files → the above, or an errno
//	gpus.go         the GPU library, over package engine
//	inject.go       faults; instruction.go those that a driver obeys
//	play.go         scenarios, step by step
//	fabric.go       pools: attach, detach; plug.go what a node gets of it
package state
