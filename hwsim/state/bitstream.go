package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// A region of an Intel card is programmed by an ioctl of its management engine
// (DFL_FPGA_FME_PORT_PR: a port and a bitstream). A Host has files and no ioctls, so
// here one write to the engine's node dev/dfl-fme.N does it: a line "port N", then
// the bitstream.
//
// The bitstream is a file of Intel's format (.gbs): a magic number, the length of
// the metadata as 32 bits, little-endian, the metadata as JSON, and then the bits,
// which nobody looks at here. The metadata name the interface that it was built for
// and the accelerator function in it.

// bitstreamMagic begins a .gbs file: "XeonFPGA", and "GBSv001" after a middle dot.
var bitstreamMagic = []byte("XeonFPGA\xb7GBSv001")

// bitstreamMeta is the part of the metadata that is looked at.
type bitstreamMeta struct {
	Version int `json:"version"`
	Image   struct {
		Interface string `json:"interface-uuid"`
		Clusters  []struct {
			Function string `json:"accelerator-type-uuid"`
		} `json:"accelerator-clusters"`
	} `json:"afu-image"`
}

// maxMeta bounds the metadata.
const maxMeta = 64 << 10

// NewBitstream makes a bitstream for an interface with a function, both 32
// hexadecimal digits.
func NewBitstream(iface, function string) ([]byte, error) {
	if !hex32.MatchString(iface) || !hex32.MatchString(function) {
		return nil, fmt.Errorf("bitstream for %q with %q: both must be 32 lower-case hex digits", iface, function)
	}
	meta := bitstreamMeta{Version: 1}
	meta.Image.Interface = dashed(iface)
	meta.Image.Clusters = append(meta.Image.Clusters, struct {
		Function string `json:"accelerator-type-uuid"`
	}{dashed(function)})
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	file := binary.LittleEndian.AppendUint32(bytes.Clone(bitstreamMagic), uint32(len(text)))
	return append(append(file, text...), make([]byte, 64)...), nil
}

// dashed is 32 digits as a UUID.
func dashed(hex string) string {
	return strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
}

// ReadBitstream returns the interface and the function of a bitstream.
func ReadBitstream(file []byte) (iface, function string, err error) {
	rest, ok := bytes.CutPrefix(file, bitstreamMagic)
	if !ok || len(rest) < 4 {
		return "", "", errors.New("it is no bitstream: a .gbs file begins with XeonFPGA")
	}
	size := binary.LittleEndian.Uint32(rest)
	if size > maxMeta || int(size) > len(rest)-4 {
		return "", "", fmt.Errorf("its metadata of %d bytes end beyond the file or are too long", size)
	}
	var meta bitstreamMeta
	if err := json.Unmarshal(rest[4:4+size], &meta); err != nil {
		return "", "", fmt.Errorf("its metadata: %w", err)
	}
	iface = strings.ToLower(strings.ReplaceAll(meta.Image.Interface, "-", ""))
	if len(meta.Image.Clusters) == 1 {
		function = strings.ToLower(strings.ReplaceAll(meta.Image.Clusters[0].Function, "-", ""))
	}
	if !hex32.MatchString(iface) || !hex32.MatchString(function) {
		return "", "", errors.New("its metadata must name one interface and one accelerator function")
	}
	return iface, function, nil
}

// RegionWrite is what is written to the management engine's node to program a
// region.
func RegionWrite(region int, bitstream []byte) []byte {
	return append([]byte(fmt.Sprintf("port %d\n", region)), bitstream...)
}

// program is that write.
func (tx *Tx) program(card hardware.PCIAddress, data []byte) error {
	line, file, ok := bytes.Cut(data, []byte("\n"))
	digits, isPort := strings.CutPrefix(string(line), "port ")
	port, err := strconv.Atoi(digits)
	if !ok || !isPort || err != nil {
		return syscall.EINVAL
	}
	iface, function, err := ReadBitstream(file)
	if err != nil {
		return syscall.EINVAL
	}
	return tx.Program(card, port, iface, function)
}

// Program loads a function into a region of a card. A bitstream for another interface
// is EIO, as the card's error is; a region that is not there, or has no port, EINVAL.
func (tx *Tx) Program(card hardware.PCIAddress, region int, iface, function string) error {
	f := tx.doc.Functions[card]
	base := tx.folder.model.region(tx.doc, card, region)
	switch {
	case f == nil || f.Driver == "" || f.Driver != tx.folder.model.native(tx.doc, card):
		return syscall.ENODEV
	case base == nil || base.Port == "" || !hex32.MatchString(function):
		return syscall.EINVAL
	case iface != base.Interface:
		return syscall.EIO
	}
	loaded := bitstream{card, region, function}
	i := slices.IndexFunc(tx.doc.Bitstreams, func(b bitstream) bool { return b.Card == card && b.Region == region })
	if i >= 0 {
		tx.doc.Bitstreams[i] = loaded
	} else {
		tx.doc.Bitstreams = append(tx.doc.Bitstreams, loaded)
		slices.SortFunc(tx.doc.Bitstreams, func(a, b bitstream) int {
			if c := a.Card.Compare(b.Card); c != 0 {
				return c
			}
			return a.Region - b.Region
		})
	}
	tx.event("bitstream", card.String(), "region %d has function %s", region, function)
	return nil
}
