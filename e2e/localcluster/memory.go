package localcluster

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory is the most memory, in bytes, that the process of a role has had resident
// at once so far.
func (c *Cluster) PeakMemory(of Role) (int64, error) {
	c.mu.Lock()
	server := c.children[of]
	c.mu.Unlock()
	if server == nil {
		return 0, fmt.Errorf("%s does not run", of)
	}
	path := fmt.Sprintf("/proc/%d/status", server.command.Process.Pid)
	file, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", of, err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if key != "VmHWM" {
			continue
		}
		kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("memory of %s: %s: %w", of, path, err)
		}
		return kibibytes << 10, nil
	}
	return 0, fmt.Errorf("memory of %s: %s says nothing of VmHWM", of, path)
}
