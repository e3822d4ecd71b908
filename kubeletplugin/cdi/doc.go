// Package cdi tells container runtimes what to give to the containers of a
// claim, in the form of the Container Device Interface: one file per claim, in a
// folder that runtimes read, with one device for each allocated device (or share
// of one). The kubelet hands the devices' IDs to the runtime.
//
// Names are those of NVIDIA's driver: vendor k8s.<driver>, class claim, device
// <claim UID>-<device>. As the UID is in them they are never used twice, so that a
// runtime that remembers old files finds nothing wrong in its memory.
//
// # What stays true
//
//  1. A file is there as a whole or not at all (package atomicfile), and whatever
//     is there was read once by the library that runtimes use, before it got its
//     name.
//  2. The same claim gives the same bytes.
//  3. Files of ours are known by their names alone: List needs no memory, and
//     Remove works for a claim of which nothing else is known.
//
// # Simulated hardware
//
// Where there is no hardware every device node in the container is /dev/null by
// another name: it can be opened and does nothing. Beside them a file below
// SimulatedPath, which cannot be written, says what the nodes stand for.
package cdi
