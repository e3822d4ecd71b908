package hardware

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

const numaDir = "sys/devices/system/node"

// readNUMANodes reads all nodes or none: distances have meaning only between
// all of them.
func (d *discovery) readNUMANodes() {
	var nodes []NUMANode
	for _, entry := range d.list(numaDir) {
		if id, ok := suffixNumber(entry, "node"); ok {
			nodes = append(nodes, NUMANode{ID: id})
		}
	}
	slices.SortFunc(nodes, func(a, b NUMANode) int { return a.ID - b.ID })
	for i := range nodes {
		if err := d.readNUMANode(&nodes[i]); err != nil {
			d.report(fmt.Sprintf("numa node %d", nodes[i].ID), "",
				fmt.Errorf("%w; the machine is taken to have no NUMA nodes", err))
			return
		}
	}
	node := &Node{NUMANodes: nodes}
	if problems := node.check(); len(problems) > 0 {
		for _, p := range problems {
			d.errs = append(d.errs, p.DeviceError())
		}
		return
	}
	d.node.NUMANodes = nodes
}

func (d *discovery) readNUMANode(node *NUMANode) (err error) {
	dir := path.Join(numaDir, fmt.Sprintf("node%d", node.ID))
	if node.CPUs, err = d.text(path.Join(dir, "cpulist")); err != nil {
		return err
	}
	ranges, err := ParseCPUList(node.CPUs)
	if err != nil {
		return err
	}
	node.Socket = NoSocket
	if len(ranges) > 0 {
		socket, err := d.number(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", ranges[0].First), 31, nil)
		if err != nil {
			return err
		}
		node.Socket = int(socket)
	}
	for field := range strings.FieldsSeq(d.optional(path.Join(dir, "distance"))) {
		distance, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return errors.New(path.Join(dir, "distance") + " holds " + quoteShort(field) + ", which must be a number")
		}
		node.Distances = append(node.Distances, int(distance))
	}
	return nil
}
