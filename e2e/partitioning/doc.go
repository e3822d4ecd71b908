// Package partitioning has the test that joins the two ends of partitioning: what
// the allocator gives out of the slices that a machine publishes, the machine's GPUs
// accept, and what it refuses for want of a device, they refuse. It needs no
// Kubernetes beyond its API.
//
// make hwsim-sequences runs 10,000 histories on each of the 17 machines with NVIDIA's
// GPUs. A tenth of that took 21 seconds of one core.
package partitioning
