package family

// The formulas below count the calls of upstream's allocateOne. They say how
// much a search does that tries device after device and turns back when one
// does not lead anywhere.

// sumOf adds the terms of from to to, both included.
func sumOf(from, to int, term func(j int) int64) int64 {
	sum := int64(0)
	for j := from; j <= to; j++ {
		sum += term(j)
	}
	return sum
}

// arrangements is the number of ordered choices of k out of n, P(n,k).
func arrangements(n, k int) int64 {
	product := int64(1)
	for i := range k {
		product *= int64(n - i)
	}
	return product
}

// combinations is the number of choices of k out of n, C(n,k).
func combinations(n, k int) int64 {
	if k < 0 || k > n {
		return 0
	}
	result := int64(1)
	for i := range min(k, n-k) {
		result = result * int64(n-i) / int64(i+1)
	}
	return result
}

// power is base to the exponent, or -1 where that does not fit.
func power(base int64, exponent int) int64 {
	result := int64(1)
	for range exponent {
		if result > (1<<63-1)/base {
			return -1
		}
		result *= base
	}
	return result
}

// spread is the sizes of v groups that n devices form in turn, larger ones
// first.
func spread(n, v int) []int {
	sizes := make([]int, v)
	for i := range n {
		sizes[i%v]++
	}
	return sizes
}
