package kindcluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// run runs a program and returns what it printed. Its error has what it complained of.
func (c *Cluster) run(ctx context.Context, stdin io.Reader, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = os.Environ()
	if c.options.Tool != "docker" {
		command.Env = append(command.Env, "KIND_EXPERIMENTAL_PROVIDER="+c.options.Tool)
	}
	command.Stdin = stdin
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return out.Bytes(), nil
}

func (c *Cluster) kind(ctx context.Context, args ...string) ([]byte, error) {
	return c.run(ctx, nil, c.options.Kind, args...)
}

func (c *Cluster) engine(ctx context.Context, args ...string) ([]byte, error) {
	return c.run(ctx, nil, c.options.Tool, args...)
}

// on runs a command on a node.
func (c *Cluster) on(ctx context.Context, node string, command ...string) ([]byte, error) {
	return c.engine(ctx, append([]string{"exec", node}, command...)...)
}

// write writes a file on a node.
func (c *Cluster) write(ctx context.Context, node, path, content string) error {
	_, err := c.run(ctx, strings.NewReader(content), c.options.Tool, "exec", "-i", node, "sh", "-c",
		`mkdir -p "$(dirname "$0")" && cat >"$0"`, path)
	return err
}
