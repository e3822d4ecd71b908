package record

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// machine says what a reader has to know about the place of a measurement, and the
// version of the module that is compared with.
func machine(upstream string) []benchfmt.Config {
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
	add("upstream", versionOf(upstream))
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

// versionOf is the version of a module that is linked.
func versionOf(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Path + "@" + module.Version
		}
	}
	return ""
}
