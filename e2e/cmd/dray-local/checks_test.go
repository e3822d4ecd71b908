package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
)

// TestWhatStandsInTheWayIsSaid reads testdata/checks.txt. Each case begins with an
// empty place, DIR, in which things are put in the cluster's way:
//
//	file NAME        a file below DIR, with the input as its content
//	locked NAME      the cluster in that folder runs, in this process
//	taken            another program has the port PORT
//	dray-local ARGS  the command, with DIR and PORT replaced
func TestWhatStandsInTheWayIsSaid(t *testing.T) {
	var place *place
	datadriven.RunTest(t, filepath.Join("testdata", "checks.txt"), func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "begin" {
			place = newPlace(t)
			return ""
		}
		return place.do(t, d)
	})
}

type place struct {
	dir, port string
}

func newPlace(t *testing.T) *place {
	dir, err := os.MkdirTemp("", "d") // short, for there is a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &place{dir: dir, port: "no port"}
}

func (p *place) do(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "file":
		p.write(t, d.CmdArgs[0].Key, d.Input)
		return ""
	case "locked":
		p.write(t, d.CmdArgs[0].Key+"/lock", fmt.Sprintln(os.Getpid()))
		file, err := os.Open(filepath.Join(p.dir, d.CmdArgs[0].Key, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			t.Fatal(err)
		}
		return ""
	case "taken":
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		p.port = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		return ""
	case "dray-local":
		return p.run(t, strings.Fields(d.Input))
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func (p *place) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run is the command as main runs it, in this process.
func (p *place) run(t *testing.T, args []string) string {
	t.Helper()
	for i := range args {
		args[i] = strings.NewReplacer("DIR", p.dir, "PORT", p.port).Replace(args[i])
	}
	var out bytes.Buffer
	command := newCommand()
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	if err := command.ExecuteContext(t.Context()); err != nil {
		fmt.Fprintf(&out, "dray-local: %v\n", err)
	}
	// How long DIR is is up to the machine.
	said := bytesOf.ReplaceAllString(out.String(), "has N bytes")
	return strings.NewReplacer(p.dir, "DIR", p.port, "PORT", fmt.Sprint("process ", os.Getpid()), "process SELF").Replace(said)
}

var bytesOf = regexp.MustCompile(`has \d+ bytes`)

func TestEveryFlagIsExplained(t *testing.T) {
	for _, command := range newCommand().Commands() {
		if command.Short == "" {
			t.Errorf("%s is not explained", command.Name())
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("--%s of %s is not explained", flag.Name, command.Name())
			}
		})
	}
}
