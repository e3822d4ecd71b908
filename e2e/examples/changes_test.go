package examples

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dray-dev/dray/e2e/console"
)

func TestAQuestionIsAskedAgainWhenWhatItIsAboutHasChanged(t *testing.T) {
	const patience = 10 * time.Second
	for _, c := range []struct {
		name, command string
		changes       map[time.Duration]string
		want          time.Duration
	}{
		{"nothing changes", "kubectl get pods -n a", nil, patience},
		{"a change", "kubectl get pods -n a", map[time.Duration]string{time.Second: "a"}, time.Second + quiet},
		{"changes of others", "kubectl get pods -n a", map[time.Duration]string{time.Second: "b", 2 * time.Second: "", 3 * time.Second: "aa"}, patience},
		{"while it was asked", "kubectl get pods -n a", map[time.Duration]string{-1: "a"}, quiet},
		{"one after the other", "kubectl get pods -n a -o x", map[time.Duration]string{time.Second: "a", time.Second + quiet/2: "a", time.Second + quiet: "b"}, time.Second + quiet/2 + quiet},
		{"slices", "kubectl get resourceslices -o x", map[time.Duration]string{time.Second: "b", 2 * time.Second: ""}, 2*time.Second + quiet},
		{"what is not watched", "kubectl get nodes", map[time.Duration]string{time.Second: "", 2 * time.Second: "a"}, patience},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := newChanges()
				await := changes.Watch(console.Step{Command: c.command})
				began := time.Now()
				for at, namespace := range c.changes {
					if at < 0 {
						changes.note(namespace)
						continue
					}
					time.AfterFunc(at, func() { changes.note(namespace) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				await(ctx)
				if took := time.Since(began); took != c.want {
					t.Errorf("it waited %s, not %s", took, c.want)
				}
				time.Sleep(patience) // for the timers
			})
		})
	}
}
