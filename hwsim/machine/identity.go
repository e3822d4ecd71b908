package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Identity sets the instances of a machine apart: everything that is unique to a
// device in the world follows from it and the device's address. Equal identities
// give equal instances. UUIDs are 122 bits of a hash, so those of different
// identities, or of different devices, never collide in practice.
type Identity struct {
	// Name of the node, rack or pool.
	Name string
	// Seed sets whole fleets apart in which the same names occur.
	Seed uint64
}

// purpose keeps hashes for different uses of one device apart. The numbers are part
// of every UUID: a new one goes to the end.
type purpose byte

const (
	gpuUUID purpose = iota
	_
	hardwareAddress
	serialNumber
	clusterUUID
	bootID
)

// digest is a hash of the identity, a purpose, a device and a number within it. It
// does not allocate for names up to 200 bytes.
func (id Identity) digest(what purpose, device hardware.PCIAddress, number int) [sha256.Size]byte {
	var space [232]byte
	b := binary.BigEndian.AppendUint64(space[:0], id.Seed)
	b = append(b, byte(what))
	b = binary.BigEndian.AppendUint16(b, device.Domain)
	b = append(b, device.Bus, device.Device, device.Function)
	b = binary.BigEndian.AppendUint64(b, uint64(number))
	b = append(b, id.Name...)
	return sha256.Sum256(b)
}

// uuid is a UUID after a prefix, such as "GPU-", in the form of a random one
// (version 4).
func (id Identity) uuid(prefix string, what purpose, device hardware.PCIAddress, number int) string {
	sum := id.digest(what, device, number)
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	var space [48]byte
	b := append(space[:0], prefix...)
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, sum[[...]int{0, 4, 6, 8, 10}[i]:end])
	}
	return string(b)
}

// BootID is the random UUID that the kernel of a node makes at its boot number n.
func (id Identity) BootID(n int) string {
	return id.uuid("", bootID, hardware.PCIAddress{}, n)
}

// MAC is the hardware address of a network function.
func (id Identity) MAC(link hardware.LinkType, device hardware.PCIAddress) string {
	return id.mac(link, device)
}

// mac is a hardware address as sysfs prints it: 6 bytes of Ethernet with the bit
// that says locally administered, or 20 of IP over InfiniBand, which end in a GUID.
func (id Identity) mac(link hardware.LinkType, device hardware.PCIAddress) string {
	sum := id.digest(hardwareAddress, device, 0)
	var space [60]byte
	if link != hardware.LinkInfiniBand {
		sum[0] = sum[0]&^0x01 | 0x02
		return string(appendColons(space[:0], sum[:6]))
	}
	var address [20]byte
	copy(address[:], []byte{0x00, 0x00, 0x10, 0x29, 0xfe, 0x80})
	copy(address[12:], sum[:8])
	return string(appendColons(space[:0], address[:]))
}

func appendColons(b, address []byte) []byte {
	for i := range address {
		if i > 0 {
			b = append(b, ':')
		}
		b = hex.AppendEncode(b, address[i:i+1])
	}
	return b
}

// serial is a serial number after a prefix, or empty for cards without one.
func (id Identity) serial(prefix string, device hardware.PCIAddress) string {
	if prefix == "" {
		return ""
	}
	const digits = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	sum := id.digest(serialNumber, device, 0)
	b := []byte(prefix)
	for _, value := range sum[:8] {
		b = append(b, digits[int(value)%len(digits)])
	}
	return string(b)
}
