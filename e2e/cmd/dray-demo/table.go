package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/e2e/examples"
	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// writeTable writes a row for each pod.
func writeTable(out io.Writer, rows []examples.Row) {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	t.SetStyle(style)
	t.AppendHeader(table.Row{"EXAMPLE", "POD", "NODE", "DEVICES", "CONTAINER GOT"})
	for _, row := range rows {
		t.AppendRow(table.Row{row.Example, shortened(row.Pod, 20), dash(row.Node), dash(devices(row.Devices)), dash(given(row))})
	}
	t.Render()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func shortened(text string, width int) string {
	if letters := []rune(text); len(letters) > width {
		return string(letters[:width-1]) + "…"
	}
	return text
}

// devices are their names; of more than two the first, the last and how many.
func devices(full []string) string {
	var names []string
	for _, device := range full {
		names = append(names, path.Base(device))
	}
	if len(names) > 2 {
		return fmt.Sprintf("%s … %s (%d)", names[0], names[len(names)-1], len(names))
	}
	return strings.Join(names, " ")
}

// given is what the first container got: a device node of its own, how many others,
// and the variables.
func given(row examples.Row) string {
	if row.Phase != corev1.PodRunning {
		return ""
	}
	got, ok, err := shown.Of(row.Annotations, "main")
	if err != nil {
		return err.Error()
	}
	if !ok {
		return ""
	}
	var words []string
	if len(got.Devices) > 0 {
		// Nodes that all GPUs share, as nvidiactl, have no number.
		own := max(slices.IndexFunc(got.Devices, numbered), 0)
		words = append(words, got.Devices[own])
		if others := len(got.Devices) - 1; others > 0 {
			words = append(words, fmt.Sprintf("(+%d)", others))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got.Env)) {
		words = append(words, name+"="+got.Env[name])
	}
	return strings.Join(words, " ")
}

func numbered(device string) bool {
	last := device[len(device)-1]
	return '0' <= last && last <= '9'
}
