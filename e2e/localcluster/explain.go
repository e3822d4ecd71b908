package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// schedulerExplain names the port at which the scheduler says why pods do not fit.
const schedulerExplain Role = "dray-scheduler-explain"

// explainPlugin is the scheduler's plugin whose arguments say where explanations are.
const explainPlugin = "DrayDynamicResources"

// ErrNoExplanation: the scheduler knows of no attempt that has failed, or the question is
// no question. The error says which.
var ErrNoExplanation = errors.New("there is no explanation")

// A Question is what [Explain] asks the scheduler.
type Question struct {
	Namespace, Pod string
	// Node is the one to be told about; all if empty.
	Node string
	// JSON rather than a page for a reader.
	JSON bool
}

// Explain asks the scheduler of the cluster in the folder why a pod's last attempt has
// failed, and returns its answer as it is.
func Explain(ctx context.Context, dir string, q Question) ([]byte, error) {
	f, _, err := running(dir)
	if err != nil {
		return nil, err
	}
	address, err := explainAddress(f)
	if err != nil {
		return nil, err
	}
	return ask(ctx, address, q)
}

// explainAddress is where the scheduler serves explanations, as the configuration says
// with which it runs.
func explainAddress(dir folder) (string, error) {
	path := dir.path("scheduler.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the scheduler has not been started: %w", err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(content, &config); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	address := ""
	eachExplainer(config, func(args map[string]any) {
		if said, ok := args["explainAddress"].(string); ok && address == "" {
			address = said
		}
	})
	if address == "" {
		return "", fmt.Errorf("%w: explainAddress is empty in the arguments of %s in %s, so the scheduler serves none", ErrNoExplanation, explainPlugin, path)
	}
	return address, nil
}

func ask(ctx context.Context, address string, q Question) ([]byte, error) {
	query := url.Values{"pod": {q.Namespace + "/" + q.Pod}, "format": {"text"}}
	if q.JSON {
		query.Set("format", "json")
	}
	if q.Node != "" {
		query.Set("node", q.Node)
	}
	at := url.URL{Scheme: "http", Host: address, Path: "/debug/dray/explain", RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", Scheduler, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Scheduler, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s", ErrNoExplanation, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// serveExplanations has the scheduler serve explanations at an address of the cluster,
// unless the configuration says where: two clusters on one machine would want one port.
func serveExplanations(config map[string]any, address string) {
	eachExplainer(config, func(args map[string]any) {
		if _, said := args["explainAddress"]; !said {
			args["explainAddress"] = address
		}
	})
}

// eachExplainer calls what is given with the arguments of the plugin in each profile,
// which are made where there are none. What is wrong with a profile the scheduler says.
func eachExplainer(config map[string]any, do func(args map[string]any)) {
	profiles, _ := config["profiles"].([]any)
	for _, each := range profiles {
		profile, ok := each.(map[string]any)
		if !ok {
			continue
		}
		plugins, _ := profile["pluginConfig"].([]any)
		found := false
		for _, each := range plugins {
			plugin, _ := each.(map[string]any)
			if plugin["name"] != explainPlugin {
				continue
			}
			found = true
			if plugin["args"] == nil {
				plugin["args"] = map[string]any{}
			}
			if args, ok := plugin["args"].(map[string]any); ok {
				do(args)
			}
		}
		if !found {
			args := map[string]any{}
			do(args)
			profile["pluginConfig"] = append(plugins, map[string]any{"name": explainPlugin, "args": args})
		}
	}
}
