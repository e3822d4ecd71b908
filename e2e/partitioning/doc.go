// Package partitioning has the test that joins the two ends of partitioning: what
// the allocator gives out of the slices that a machine publishes, the machine's GPUs
// accept. It needs no Kubernetes beyond its API.
package partitioning
