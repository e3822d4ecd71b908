package kindcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Logs copies what can be read of the logs of servers, drivers, kubelets and container
// runtimes into a folder. What cannot be read is in the error.
func (c *Cluster) Logs(ctx context.Context, into string) error {
	var problems []error
	pods := &corev1.PodList{}
	if c.client != nil { // nil where there was never an API server
		var err error
		if pods, err = c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{}); err != nil {
			problems = append(problems, err)
			pods = &corev1.PodList{}
		}
	}
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true} {
				if previous && status.RestartCount == 0 {
					continue
				}
				content, err := c.client.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: status.Name, Previous: previous}).DoRaw(ctx)
				if err == nil {
					name := pod.Name
					if previous {
						name += "-previous"
					}
					err = os.WriteFile(filepath.Join(into, name+".log"), content, 0o600)
				}
				if err != nil {
					problems = append(problems, fmt.Errorf("pod %s: %w", pod.Name, err))
				}
			}
		}
	}
	for _, node := range c.nodes {
		content, err := c.on(ctx, node, "journalctl", "--no-pager", "--lines", "5000", "--output", "short-precise")
		if err == nil {
			err = os.WriteFile(filepath.Join(into, node+".log"), content, 0o600)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
