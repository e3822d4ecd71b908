// Command hwsim shows simulated machines: which there are, what is in them, and
// how sure each figure is. In folders they run, boot and break.
//
// It ends with 0, with 1 when something was not found or is not valid, and with 2
// when it was called in a wrong way; with 130 when it was interrupted and took
// back what it had begun. What was asked for goes to the standard output,
// everything else to the standard error.
//
//	main.go      the exit code
//	root.go      the command and what its subcommands share
//	machines.go  hwsim machines: which to show, and in which form
//	summary.go   the table of machines
//	tree.go      one machine as a tree
//	details.go   one machine's models and the evidence
//	surfaces.go  hwsim surfaces: the files that a driver reads
//	folder.go    the folder of a machine that runs
//	run.go       hwsim run: make one, play a scenario, print what happens
//	state.go     hwsim state: what it is now
//	reboot.go    hwsim reboot, hwsim reset
//	inject.go    hwsim inject: a fault
//	write.go     hwsim write: to a file of the machine
//	mig.go       hwsim mig: the modes; miglist.go what there is and what fits,
//	             migchange.go instances that are made and destroyed
//	fleet.go     hwsim fleet: what a fleet is made of, and where it is written
//	outfile.go   the file of --out
//	publishflags.go  how the devices of a fleet become slices
//	pairs.go     flags such as --label, which are repeated for each key
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
