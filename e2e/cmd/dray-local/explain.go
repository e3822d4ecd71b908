package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func explainCommand(dir *string) *cobra.Command {
	var q localcluster.Question
	var format string
	command := &cobra.Command{
		Use:   "explain NAMESPACE/POD",
		Short: "Say why a pod does not fit: the scheduler's explanation of its last attempt",
		Long: "Say why a pod does not fit: the scheduler's explanation of its last attempt. It\n" +
			"remembers the pods that failed last, and forgets them when it is started anew.",
		Example: "  dray-local explain default/train\n" +
			"  dray-local explain default/train --node dgx-h100-0 -o json",
		Args: cobra.ExactArgs(1),
	}
	command.Flags().StringVarP(&format, "output", "o", "text", "text, or json for programs")
	command.Flags().StringVar(&q.Node, "node", "", "`NODE` that the explanation is to be about; all if it is not given")
	command.RunE = func(command *cobra.Command, args []string) error {
		var ok bool
		if q.Namespace, q.Pod, ok = strings.Cut(args[0], "/"); !ok || q.Namespace == "" || q.Pod == "" {
			return fmt.Errorf("%q is not NAMESPACE/POD, such as default/train", args[0])
		}
		switch format {
		case "text":
		case "json":
			q.JSON = true
		default:
			return fmt.Errorf("--output %s: it can be text or json", format)
		}
		said, err := localcluster.Explain(command.Context(), *dir, q)
		if err != nil {
			return err
		}
		_, err = command.OutOrStdout().Write(said)
		return err
	}
	return command
}
