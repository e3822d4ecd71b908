//go:build draygate_waste

package contender

// wasted is how often ours allocates in vain before it answers: here once, so
// that everything but the first evaluation of a selector is done twice.
const wasted = 1
