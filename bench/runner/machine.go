package runner

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// machine says what a reader has to know about the place of a measurement.
func machine() []benchfmt.Config {
	var config []benchfmt.Config
	add := func(key, value string) {
		if value != "" {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("goos", runtime.GOOS)
	add("goarch", runtime.GOARCH)
	add("pkg", "github.com/dray-dev/dray/bench")
	add("cpu", processor("/proc/cpuinfo"))
	add("toolchain", runtime.Version())
	add("upstream", upstreamVersion())
	add("date", time.Now().UTC().Format(time.DateOnly))
	return config
}

// processor reads the model of the first processor, "" where the kernel does
// not say.
func processor(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// upstreamVersion is the version of upstream's allocator that is linked.
func upstreamVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/dynamic-resource-allocation" {
			return module.Path + "@" + module.Version
		}
	}
	return ""
}
