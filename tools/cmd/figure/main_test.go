package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestTheFigureIsTheLastLine(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   string
	}{
		"in the middle":   {`echo a; echo "figure: 3 cases"; echo ok`, "a\nok\nfigure: 3 cases\n"},
		"logged":          {`echo "    x_test.go:12: figure: 3 cases"; echo ok`, "ok\nfigure: 3 cases\n"},
		"more than one":   {`echo "figure: 1"; echo "figure: 2"; echo ok`, "figure: 1\nok\nfigure: 2\n"},
		"without newline": {`printf "a\nfigure: 1"`, "a\nfigure: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if err := run([]string{"-prefix", "figure: ", "--", "sh", "-c", test.script}, &stdout, &stderr); err != nil {
				t.Fatal(err)
			}
			if stdout.String() != test.want {
				t.Errorf("printed %q, want %q", &stdout, test.want)
			}
		})
	}
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	var stdout, stderr bytes.Buffer
	err := run([]string{"-prefix", "figure: ", "--", "sh", "-c", `echo "figure: 1 difference"; echo FAIL; exit 3`}, &stdout, &stderr)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("error is %v, want exit code 3", err)
	}
	if !strings.HasSuffix(stdout.String(), "FAIL\nfigure: 1 difference\n") {
		t.Errorf("printed %q, want the figure last", &stdout)
	}
}

func TestSuccessWithoutTheFigureFails(t *testing.T) {
	var stdout, stderr bytes.Buffer
	err := run([]string{"-prefix", "figure: ", "--", "sh", "-c", "echo ok"}, &stdout, &stderr)
	if err == nil || !strings.Contains(err.Error(), `"figure: "`) {
		t.Errorf("error is %v, want one that names the missing line", err)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	for _, args := range [][]string{{}, {"-prefix", "x"}, {"sh"}, {"-prefix", "x", "no-such-command-anywhere"}} {
		if err := run(args, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("figure %q gives no error", args)
		}
	}
}
