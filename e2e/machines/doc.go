// Package machines has the tests that need simulated machines and the API server's
// or the allocator's code at a time: what machines publish is stored as it is, and
// is allocated as the hardware admits.
package machines
