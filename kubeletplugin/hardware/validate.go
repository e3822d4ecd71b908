package hardware

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Validate reports every place at which the Node breaks one of its invariants,
// as DeviceErrors that are joined in the order of the Node's lists.
func (n *Node) Validate() error {
	var errs []error
	for _, p := range n.check() {
		errs = append(errs, p.DeviceError())
	}
	return errors.Join(errs...)
}

// problem is an invariant that a Node breaks.
type problem struct {
	// blamed is the device to leave out, or nil if it is in the NUMA nodes.
	blamed *PCIAddress
	device string
	field  string
	err    error
}

// DeviceError is the problem as others see it.
func (p problem) DeviceError() *DeviceError { return &DeviceError{p.device, p.field, p.err} }

// device is a Node's device, whichever its kind.
type device struct {
	kind string // "gpu", "amd gpu", "nic", "fpga"
	*PCIFunction
}

func (d device) String() string { return d.kind + " " + d.Address.String() }

// devices of the Node, one list after the other.
func (n *Node) devices() [4][]device {
	var lists [4][]device
	for i := range n.GPUs {
		lists[0] = append(lists[0], device{"gpu", &n.GPUs[i].PCIFunction})
	}
	for i := range n.AMDGPUs {
		lists[1] = append(lists[1], device{"amd gpu", &n.AMDGPUs[i].PCIFunction})
	}
	for i := range n.NICs {
		lists[2] = append(lists[2], device{"nic", &n.NICs[i].PCIFunction})
	}
	for i := range n.FPGAs {
		lists[3] = append(lists[3], device{"fpga", &n.FPGAs[i].PCIFunction})
	}
	return lists
}

// checker collects the problems of one Node.
type checker struct {
	node     *Node
	problems []problem
	taken    map[string]device // what may be held by one device only, to its holder
}

func (n *Node) check() []problem {
	c := checker{node: n, taken: map[string]device{}}
	c.numaNodes()
	lists := n.devices()
	for _, list := range lists {
		c.addresses(list)
	}
	for _, list := range lists {
		c.virtualFunctions(list)
		c.bridges(list)
	}
	for i := range n.GPUs {
		c.gpu(&n.GPUs[i])
	}
	for i := range n.AMDGPUs {
		c.amdGPU(&n.AMDGPUs[i])
	}
	for i := range n.NICs {
		c.nic(&n.NICs[i])
	}
	for i := range n.FPGAs {
		c.fpga(&n.FPGAs[i])
	}
	return c.problems
}

// blame records a problem of a device.
func (c *checker) blame(d device, field, format string, args ...any) {
	address := d.Address
	c.problems = append(c.problems, problem{&address, d.String(), field, fmt.Errorf(format, args...)})
}

// take records that the device holds something that no other may hold.
func (c *checker) take(d device, field, what string) {
	if holder, ok := c.taken[what]; ok {
		c.blame(d, field, "%s is that of %s as well", what, holder)
		return
	}
	c.taken[what] = d
}

// numaNodes checks invariant 5.
func (c *checker) numaNodes() {
	nodes := c.node.NUMANodes
	owner := map[int]int{} // CPU to the ID of its node
	for i, node := range nodes {
		blame := func(field, format string, args ...any) {
			c.problems = append(c.problems,
				problem{nil, fmt.Sprintf("numa node %d", node.ID), field, fmt.Errorf(format, args...)})
		}
		if node.ID < 0 || i > 0 && node.ID <= nodes[i-1].ID {
			blame("ID", "IDs must ascend from 0")
		}
		ranges, err := ParseCPUList(node.CPUs)
		if err != nil {
			blame("CPUs", "%w", err)
		}
		for _, r := range ranges {
			for cpu := r.First; cpu <= r.Last; cpu++ {
				if other, ok := owner[cpu]; ok {
					blame("CPUs", "CPU %d is in node %d as well", cpu, other)
					break
				}
				owner[cpu] = node.ID
			}
		}
		if (node.CPUs == "") != (node.Socket == NoSocket) || node.Socket < NoSocket {
			blame("Socket", "is %d for CPUs %q: a node has a socket if it has CPUs, else %d", node.Socket, node.CPUs, NoSocket)
		}
		if len(node.Distances) != len(nodes[0].Distances) || len(node.Distances) != 0 && len(node.Distances) != len(nodes) {
			blame("Distances", "are %d for %d nodes: give all of them, for every node, or none", len(node.Distances), len(nodes))
			continue
		}
		for to, distance := range node.Distances {
			if (to == i) != (distance == 10) || distance < 10 || distance > 255 {
				blame("Distances", "is %d to node %d: it must be 10 to the node itself and 11 to 255 to others", distance, nodes[to].ID)
			}
		}
	}
}

// name is what a file's name can be, and so a name that becomes one.
var name = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+:-]*$`)

// rootForm is how the kernel names root complexes.
var rootForm = regexp.MustCompile(`^pci[0-9a-f]{4}:[0-9a-f]{2}$`)

// addresses checks invariants 1 and 2, and that the fields of a function have
// the forms that the type gives them.
func (c *checker) addresses(list []device) {
	for i, d := range list {
		if i > 0 && list[i-1].Address.Compare(d.Address) > 0 {
			c.blame(d, "Address", "comes before %s in the order of the bus: sort the list by address", list[i-1].Address)
		}
		c.take(d, "Address", "address "+d.Address.String())
		if d.NUMANode != NoNUMANode && !slices.ContainsFunc(c.node.NUMANodes, func(n NUMANode) bool { return n.ID == d.NUMANode }) {
			c.blame(d, "NUMANode", "there is no NUMA node %d on the machine (%d for none)", d.NUMANode, NoNUMANode)
		}
		if d.Root != "" && !rootForm.MatchString(d.Root) {
			c.blame(d, "Root", "%q must look like pci0000:15, or be empty", d.Root)
		}
		if d.Driver != "" && !name.MatchString(d.Driver) {
			c.blame(d, "Driver", "%q is not the name of a kernel driver", d.Driver)
		}
		if d.IOMMUGroup < -1 {
			c.blame(d, "IOMMUGroup", "is %d: it must be a group, or -1 without an IOMMU", d.IOMMUGroup)
		}
		if d.Class > 0xffffff {
			c.blame(d, "Class", "%#x has more than 24 bits", d.Class)
		}
	}
}

// virtualFunctions checks invariant 3.
func (c *checker) virtualFunctions(list []device) {
	byAddress := map[PCIAddress]device{}
	for _, d := range list {
		byAddress[d.Address] = d
	}
	for _, d := range list {
		switch {
		case d.SRIOV == nil:
		case d.IsVF():
			c.virtualFunction(d, byAddress[*d.SRIOV.PhysicalFunction])
		default:
			if len(d.SRIOV.VFs) > d.SRIOV.TotalVFs {
				c.blame(d, "SRIOV.VFs", "are %d, and there can be %d", len(d.SRIOV.VFs), d.SRIOV.TotalVFs)
			}
			if d.SRIOV.Index != 0 {
				c.blame(d, "SRIOV.Index", "is %d for a physical function", d.SRIOV.Index)
			}
			for i, vf := range d.SRIOV.VFs {
				c.take(d, fmt.Sprintf("SRIOV.VFs[%d]", i), "virtual function "+vf.String())
				if other, ok := byAddress[vf]; ok && (!other.IsVF() || *other.SRIOV.PhysicalFunction != d.Address) {
					c.blame(other, "SRIOV.PhysicalFunction", "%s has it as virtual function %d", d, i)
				} else if holder, taken := c.taken["address "+vf.String()]; taken && !ok {
					c.blame(d, fmt.Sprintf("SRIOV.VFs[%d]", i), "%s is not of the same kind", holder)
				}
			}
		}
	}
}

func (c *checker) virtualFunction(vf, pf device) {
	sriov := vf.SRIOV
	if sriov.TotalVFs != 0 || len(sriov.VFs) != 0 {
		c.blame(vf, "SRIOV", "has a physical function and virtual ones: only one of them can be")
	}
	switch {
	case pf.PCIFunction == nil:
		c.blame(vf, "SRIOV.PhysicalFunction", "%s is not in the list of the node's devices of this kind", sriov.PhysicalFunction)
	case pf.SRIOV == nil || sriov.Index < 0 || sriov.Index >= len(pf.SRIOV.VFs) || pf.SRIOV.VFs[sriov.Index] != vf.Address:
		c.blame(vf, "SRIOV.Index", "is %d, and %s has another virtual function or none there", sriov.Index, pf)
	}
}

// bridges checks invariant 4: what the path to a bridge is, its first user says.
func (c *checker) bridges(list []device) {
	for _, d := range list {
		path := "root " + d.Root
		for i, bridge := range d.Bridges {
			field := fmt.Sprintf("Bridges[%d]", i)
			if holder, ok := c.taken["address "+bridge.String()]; ok {
				c.blame(d, field, "%s is the address of %s", bridge, holder)
			}
			if strings.Contains(path, bridge.String()) {
				c.blame(d, field, "%s is on the path twice", bridge)
			}
			const key = "path of bridge "
			if first, ok := c.taken[key+bridge.String()]; ok {
				if known := bridgePath(first.PCIFunction, bridge); known != path {
					c.blame(d, field, "%s hangs on %s, and for %s on %s", bridge, path, first, known)
				}
			} else {
				c.taken[key+bridge.String()] = d
			}
			path += ", " + bridge.String()
		}
	}
}

// bridgePath says what the bridge hangs on, for a function behind it.
func bridgePath(f *PCIFunction, bridge PCIAddress) string {
	path := "root " + f.Root
	for _, b := range f.Bridges {
		if b == bridge {
			break
		}
		path += ", " + b.String()
	}
	return path
}
