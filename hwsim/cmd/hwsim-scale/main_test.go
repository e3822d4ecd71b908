package main

import (
	"bytes"
	"regexp"
	"testing"
	"time"
)

// clock advances by a step at each look.
func clock(step time.Duration) func() time.Time {
	var t time.Time
	return func() time.Time {
		t = t.Add(step)
		return t
	}
}

func TestTheLastLineHasTheFigures(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-nodes", "2"}, &out, clock(time.Second)); err != nil {
		t.Fatal(err)
	}
	// 8 GPUs with 25 partitions each, 15 NICs.
	if want := regexp.MustCompile(`^hwsim-scale: 2 nodes, 446 devices, 1\.0 s, \d+ MiB peak\n$`); !want.MatchString(out.String()) {
		t.Errorf("printed %q", out.String())
	}
}

func TestMoreThanTheLimitsIsAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"time":    {"-nodes", "1", "-max-seconds", "0.5"},
		"memory":  {"-nodes", "1", "-max-mib", "1"},
		"machine": {"-machine", "dgx-h101"},
		"nodes":   {"-nodes", "0"},
	} {
		if err := run(args, new(bytes.Buffer), clock(time.Second)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
