// Package api reads the opaque configuration of claims and device classes.
//
//	configs, err := api.Read(driver, claim.Status.Allocation.Devices.Config)
//	config, err := api.For[api.GPU](configs, "train/large")
//
// Two families of kinds are understood: ours (package v1alpha1), and NVIDIA's of
// resource.nvidia.com/v1beta1, so that claims written for NVIDIA's driver run
// unchanged. Both become one of the types of this package, GPU or MIG, whose zero
// value is the default. A new kind is a type here and an entry of kinds.
//
// Everything is strict: a field that nobody knows, twice the same field or a value
// that is none of those listed is an error that names the entry and the field
// (Error). So is what is known and cannot be done here, such as MPS (ErrRefused):
// a container that believes to share a GPU safely must not start without.
//
// # Which entry applies
//
//  1. An entry without requests is for all of them. One that names a request is
//     for its subrequests, too; one that names a subrequest, as "main/small", is
//     for that one alone.
//  2. Entries of the class come before those of the claim, and within each the
//     order is that of the list. Of those that apply to a device the last one
//     counts, as a whole: entries are not merged.
//  3. An entry whose kind is for other devices is passed over. If it names the
//     very request that the device was allocated for, that is an error.
//  4. Entries that do not count are read as strictly as those that do.
package api
