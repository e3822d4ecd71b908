package family

import (
	resourceapi "k8s.io/api/resource/v1"
)

// Families in which a constraint is what cannot be met.

// constrained has devices in groups by attribute and one request under the
// constraints.
func constrained(group func(i int, d *resourceapi.Device), n, count int, constraints ...resourceapi.DeviceConstraint) *Case {
	c := newCase()
	c.withClasses()
	devices := newDevices(n)
	for i := range devices {
		group(i, &devices[i])
	}
	c.Scenario.Slices = localPool("local", c.Node.Name, devices)
	claim := newClaim("c", wants("r", anyClass, count))
	claim.Spec.Devices.Constraints = constraints
	c.Scenario.Claims = []*resourceapi.ResourceClaim{claim}
	return c
}

// noGroupLargeEnough: matching devices, one more than the largest group has.
func noGroupLargeEnough(s Size) *Case {
	n, size := s.Of("n"), s.Of("s")
	c := constrained(func(i int, d *resourceapi.Device) { setInt(d, "root", i/size) }, n, size+1, matching(driver+"/root"))
	c.Steps = 1
	for first := 0; first < n; first += size {
		c.Steps += 1<<min(size, n-first) - 1
	}
	return c
}

// oneValueTooFew: devices of distinct groups, one more than there are groups.
func oneValueTooFew(s Size) *Case {
	n, values := s.Of("n"), s.Of("v")
	c := constrained(func(i int, d *resourceapi.Device) { setInt(d, "root", i%values) }, n, values+1, distinct(driver+"/root"))
	c.Steps = 1
	for _, size := range spread(n, values) {
		c.Steps *= int64(1 + size)
	}
	return c
}

// noTransversal: v devices that differ in both of two attributes, where more
// than half of the values of one go with less than half of the other's.
func noTransversal(s Size) *Case {
	v := s.Of("v")
	columns := func(row int) int {
		if row <= v/2 {
			return v / 2
		}
		return v
	}
	type cell struct{ row, column int }
	var cells []cell
	for row := range v {
		for column := range columns(row) {
			cells = append(cells, cell{row, column})
		}
	}
	c := constrained(func(i int, d *resourceapi.Device) {
		setInt(d, "numa", cells[i].row)
		setInt(d, "root", cells[i].column)
	}, len(cells), v, distinct(driver+"/numa"), distinct(driver+"/root"))
	// Every choice of cells without two in a row or a column: counted row by
	// row, by the columns that are taken.
	ways := map[int]int64{0: 1}
	for row := range v {
		next := make(map[int]int64)
		for taken, n := range ways {
			next[taken] += n
			for column := range columns(row) {
				if taken&(1<<column) == 0 {
					next[taken|1<<column] += n
				}
			}
		}
		ways = next
	}
	c.Steps = 0
	for _, n := range ways {
		c.Steps += n
	}
	return c
}

// noCommonValue: attributes are lists of all values but one, so that few
// devices always have one in common and many never do.
func noCommonValue(s Size) *Case {
	n, values := s.Of("n"), s.Of("v")
	c := constrained(func(i int, d *resourceapi.Device) {
		var list []int64
		for value := range values {
			if value != i%values {
				list = append(list, int64(value))
			}
		}
		d.Attributes["links"] = resourceapi.DeviceAttribute{IntValues: list}
	}, n, n-n/values+1, matching(driver+"/links"))
	c.Scenario.Features.ListTypeAttributes = true
	// Every set of devices, but for those in which each value is missing once.
	covering := int64(1)
	for _, size := range spread(n, values) {
		covering *= 1<<size - 1
	}
	c.Steps = power(2, n) - covering
	return c
}
