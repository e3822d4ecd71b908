package hardware

// Resolve follows links for hosts of tests: fstest.MapFS does not end on a link
// that leads to itself.
var Resolve = resolve
