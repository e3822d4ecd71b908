package main

import (
	"bytes"
	"testing"
)

func TestPackagesAreSplitByWhatTheyLink(t *testing.T) {
	const (
		linkedPackage = "github.com/dray-dev/dray/tools/linked"
		self          = "github.com/dray-dev/dray/tools/cmd/packages"
	)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"with":             {[]string{"-with", linkedPackage, self, linkedPackage}, self + "\n" + linkedPackage + "\n"},
		"with a parent":    {[]string{"-with", "encoding", linkedPackage}, linkedPackage + "\n"},
		"without":          {[]string{"-without", self, self, linkedPackage}, linkedPackage + "\n"},
		"through the test": {[]string{"-without", "testing", self}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(test.args, &out); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want {
				t.Errorf("packages %q printed\n%swant\n%s", test.args, &out, test.want)
			}
		})
	}
}

func TestArgumentsMustSayWhatToChooseBy(t *testing.T) {
	for _, args := range [][]string{{}, {"./..."}, {"-with", "a"}, {"-with", "a", "-without", "b", "./..."}} {
		if err := run(args, new(bytes.Buffer)); err == nil {
			t.Errorf("packages %q gives no error", args)
		}
	}
}
