package examples

import (
	"context"
	"fmt"
	"strings"

	"github.com/dray-dev/dray/e2e/console"
)

// Run runs the commands of an example's README. look, if not nil, is called once, when
// all is as shown and before the first command that deletes.
func (e Example) Run(ctx context.Context, shell console.Shell, look func(context.Context) error) error {
	for _, step := range e.Steps {
		if look != nil && strings.HasPrefix(step.Command, "kubectl delete ") {
			if err := look(ctx); err != nil {
				return fmt.Errorf("example %s: %w", e.Name, err)
			}
			look = nil
		}
		if _, err := shell.Run(ctx, step); err != nil {
			return fmt.Errorf("%s/%s/%s:%d: %w", Folder, e.Name, readme, step.Line, err)
		}
	}
	return nil
}
