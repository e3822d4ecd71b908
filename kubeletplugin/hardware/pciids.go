package hardware

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// pciNames is the part of a PCI ID database that names given vendors' devices.
type pciNames struct {
	vendors map[uint16]string
	devices map[[2]uint16]string
}

// readPCINames reads the format of pci.ids: a vendor a line, its devices below
// it after one tab, their subsystems after two; classes come last, behind a
// letter. Lines that have another form are passed over.
func readPCINames(database io.Reader) (pciNames, error) {
	names := pciNames{map[uint16]string{}, map[[2]uint16]string{}}
	var vendor uint16
	inVendor := false
	lines := bufio.NewScanner(database)
	for lines.Scan() {
		line := lines.Text()
		device, indented := strings.CutPrefix(line, "\t")
		id, name, ok := pciName(device)
		switch {
		case indented && ok && inVendor:
			names.devices[[2]uint16{vendor, id}] = name
		case indented || line == "" || line[0] == '#':
		default:
			if inVendor = ok; ok {
				vendor = id
				names.vendors[id] = name
			}
		}
	}
	return names, lines.Err()
}

// pciName reads "10de  NVIDIA Corporation".
func pciName(line string) (id uint16, name string, ok bool) {
	digits, name, ok := strings.Cut(line, "  ")
	if !ok || len(digits) != 4 {
		return 0, "", false
	}
	n, err := strconv.ParseUint(digits, 16, 16)
	return uint16(n), strings.TrimSpace(name), err == nil
}
