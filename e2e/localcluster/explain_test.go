package localcluster

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// served is where a configuration has explanations served once it is completed.
func served(t *testing.T, config string) (string, error) {
	t.Helper()
	var read map[string]any
	if err := yaml.Unmarshal([]byte(config), &read); err != nil {
		t.Fatal(err)
	}
	serveExplanations(read, "127.0.0.1:7")
	written, err := yaml.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	dir := newFolder(t)
	if err := writeFile(dir.path("scheduler.yaml"), written); err != nil {
		t.Fatal(err)
	}
	return explainAddress(dir)
}

func TestExplanationsAreServedOnAPortOfTheClusterUnlessTheConfigurationSaysWhere(t *testing.T) {
	const plugin = "profiles:\n- pluginConfig:\n  - name: Other\n    args: {a: b}\n  - name: DrayDynamicResources\n    args: "
	for name, test := range map[string]struct{ config, want, err string }{
		"as it is shipped":   {string(shippedConfig), "127.0.0.1:7", ""},
		"no arguments":       {"profiles:\n- schedulerName: a\n", "127.0.0.1:7", ""},
		"arguments of ours":  {plugin + "{reasons: dray}\n", "127.0.0.1:7", ""},
		"an empty entry":     {strings.TrimSuffix(plugin, "    args: ") + "", "127.0.0.1:7", ""},
		"empty arguments":    {plugin + "\n", "127.0.0.1:7", ""},
		"an address":         {plugin + `{explainAddress: "127.0.0.1:8"}` + "\n", "127.0.0.1:8", ""},
		"switched off":       {plugin + `{explainAddress: ""}` + "\n", "", "explainAddress is empty in the arguments of DrayDynamicResources"},
		"no profile at all":  {"profiles: none\n", "", "serves none"},
		"profiles of nobody": {"profiles: [7]\n", "", "serves none"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := served(t, test.config)
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("served at %q, error %v; want %q, %q", got, err, test.want, test.err)
			}
		})
	}
	config := map[string]any{"profiles": []any{map[string]any{"pluginConfig": []any{map[string]any{"name": explainPlugin}}}}}
	serveExplanations(config, "127.0.0.1:7")
	profile, _ := config["profiles"].([]any)[0].(map[string]any)
	if entries, _ := profile["pluginConfig"].([]any); len(entries) != 1 {
		t.Errorf("an entry without arguments became %v, want one entry: the scheduler refuses two of one name", entries)
	}
	if _, err := explainAddress(newFolder(t)); err == nil || !strings.Contains(err.Error(), "has not been started") {
		t.Errorf("without a configuration the error is %v", err)
	}
}

func TestTheSchedulersAnswerIsPassedOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pod") == "a/none" {
			http.Error(w, "no failed attempt of pod a/none", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, r.URL.RequestURI())
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for q, want := range map[Question]string{
		{Namespace: "a", Pod: "b"}:                          "/debug/dray/explain?format=text&pod=a%2Fb",
		{Namespace: "a", Pod: "b", JSON: true, Node: "n&m"}: "/debug/dray/explain?format=json&node=n%26m&pod=a%2Fb",
	} {
		if got, err := ask(t.Context(), address, q); err != nil || string(got) != want {
			t.Errorf("%+v: %s, error %v; want %s", q, got, err, want)
		}
	}
	if _, err := ask(t.Context(), address, Question{Namespace: "a", Pod: "none"}); !errors.Is(err, ErrNoExplanation) || !strings.Contains(err.Error(), "no failed attempt") {
		t.Errorf("error %v, want what the scheduler says", err)
	}
	server.Close()
	if _, err := ask(t.Context(), address, Question{Namespace: "a", Pod: "b"}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v, want one that says who is silent", err)
	}
}
