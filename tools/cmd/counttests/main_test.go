package main

import (
	"strings"
	"testing"
)

const events = `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestSkipped"}
{"Action":"pass","Package":"p","Elapsed":1.25}
{"Action":"output","Package":"q","Test":"TestB","Output":"because\n"}
{"Action":"fail","Package":"q","Test":"TestB"}
{"Action":"fail","Package":"q","Elapsed":0.5}
{"ImportPath":"r","Action":"build-output","Output":"r.go:1:1: wrong\n"}
{"ImportPath":"r","Action":"build-fail"}
{"Action":"fail","Package":"r"}
{"ImportPath":"s","Action":"build-output","Output":"s.go:1:1: wrong\n"}
{"ImportPath":"s","Action":"build-fail"}
{"Action":"fail","Package":"s"}
`

func TestEventsAreCounted(t *testing.T) {
	var out strings.Builder
	c, err := count(strings.NewReader(events), &out, false)
	if err != nil || c != (counts{2, 3}) {
		t.Errorf("%+v, error %v", c, err)
	}
	want := "pass p (1.2 s)\nbecause\nfail q (0.5 s)\nr.go:1:1: wrong\nFAIL r\ns.go:1:1: wrong\nFAIL s\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nnot\n%s", out.String(), want)
	}
}

const eventsOfParts = `
{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/sub","Output":"because\n"}
{"Action":"fail","Package":"p","Test":"TestB/sub"}
{"Action":"output","Package":"p","Test":"TestB","Output":"in all\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC/sub","Output":"not here\n"}
{"Action":"skip","Package":"p","Test":"TestC/sub"}
{"Action":"pass","Package":"p","Test":"TestC/other"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestD","Output":"nor here\n"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p","Elapsed":1}
{"Action":"fail","Package":"q","Elapsed":2}
`

// The second package has crashed before a test of it ended.
func TestASubtestIsAPartOfItsTestWhereThoseCount(t *testing.T) {
	var out strings.Builder
	c, err := count(strings.NewReader(eventsOfParts), &out, true)
	if err != nil || c != (counts{1, 2}) {
		t.Errorf("%+v, error %v", c, err)
	}
	want := "because\nin all\nnot here\nnor here\nfail p (1.0 s)\nFAIL q\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nnot\n%s", out.String(), want)
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	if _, err := count(strings.NewReader("go: no such tool"), &strings.Builder{}, false); err == nil {
		t.Error("no error")
	}
}

func TestAPackageIsRunAndCounted(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-name", "x", "--", "-run", "TestEventsAreCounted", "."}, &out, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "\nx: 1 passed, 0 failed\n") {
		t.Errorf("the last line is not the figure:\n%s", out.String())
	}
	if err := run([]string{"-name", "x", "--", "-run", "TestThereIsNone", "."}, &out, &out); err == nil {
		t.Error("no test is no error")
	}
}
