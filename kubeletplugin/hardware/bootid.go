package hardware

import (
	"fmt"
	"io/fs"
	"strings"
)

// bootIDFile is where the kernel tells.
const bootIDFile = "proc/sys/kernel/random/boot_id"

// BootID returns what is new after each boot of the machine, and only then.
func BootID(host Host) (string, error) {
	content, err := fs.ReadFile(host, bootIDFile)
	if err != nil {
		return "", fmt.Errorf("boot ID: %w", err)
	}
	id := strings.TrimSpace(string(content))
	if id == "" {
		return "", fmt.Errorf("boot ID: %s is empty", bootIDFile)
	}
	return id, nil
}
