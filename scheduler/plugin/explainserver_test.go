package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

const explainObjects = `node a
node b
node c
class gpu
slice a devices=gpu-0
slice b devices=gpu-0
claim one gpu on=a:gpu-0
claim two gpu on=b:gpu-0
claim train gpu
claim lost missing
pod p claims=train
pod q claims=lost
pod fine
`

// ask asks the endpoint about pods of the world.
func (w *world) ask(query, accept string) *httptest.ResponseRecorder {
	w.t.Helper()
	request := httptest.NewRequestWithContext(w.ctx, http.MethodGet, explainPath+"?"+query, nil)
	request.Header.Set("Accept", accept)
	recorder := httptest.NewRecorder()
	explainHandler{w.plugin.lastAttempt}.ServeHTTP(recorder, request)
	if got := recorder.Header().Get("Cache-Control"); got != "no-store" {
		w.t.Errorf("%s: Cache-Control is %q", query, got)
	}
	return recorder
}

func TestTheEndpointExplainsTheLastFailedAttempt(t *testing.T) {
	w := newWorld(t, parseObjects(t, explainObjects), "", stableFeatures())
	for _, pod := range []string{"p", "q", "fine"} {
		w.schedule(pod)
	}
	for query, wants := range map[string][]string{
		"pod=default/p": {"pod default/p (uid uid-p)", "2 of 3 nodes (a, b): claim train, request r0: matching devices are in use", "for example node a:",
			"1 of 3 nodes (c): claim train, request r0: too few devices", "nearest miss: gpu.example/a/gpu-0"},
		"pod=default/p&node=b":      {"1 of 1 nodes (b): claim train, request r0: matching devices are in use", "for example node a:"},
		"pod=default/q":             {"refused before any node was asked: claim lost, request r0: device class missing does not exist"},
		"pod=default/q&format=text": {"refused before"},
	} {
		got := w.ask(query, "*/*")
		if got.Code != http.StatusOK || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s", query, got.Code, got.Header().Get("Content-Type"))
		}
		for _, want := range wants {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: does not say %q:\n%s", query, want, got.Body)
			}
		}
	}
	for _, ask := range [][2]string{{"pod=default/p&format=json", ""}, {"pod=default/p", "application/json"}} {
		got := w.ask(ask[0], ask[1])
		var a attempt
		if err := json.Unmarshal(got.Body.Bytes(), &a); err != nil || got.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%v: %v", ask, err)
		}
		if a.Nodes != 3 || len(a.Groups) != 2 || a.Groups[0].Explanation == nil || a.Groups[0].Explanation.First == nil {
			t.Errorf("%v: %s", ask, got.Body)
		}
	}
	// A pod that is placed has no failed attempt any more.
	w.check(w.api.ResourceV1().ResourceClaims(testNamespace).Delete(w.ctx, "one", metav1.DeleteOptions{}))
	w.settle()
	if said := w.schedule("p"); said != "bound to a\n" {
		t.Fatal(said)
	}
	if got := w.ask("pod=default/p", ""); got.Code != http.StatusNotFound {
		t.Errorf("of a pod that is placed: %d", got.Code)
	}
}

func TestTheEndpointSaysWhatItDoesNotKnowAndWhatItDoesNotUnderstand(t *testing.T) {
	w := newWorld(t, parseObjects(t, explainObjects), "", stableFeatures())
	w.schedule("p")
	for query, want := range map[string]struct {
		code int
		says string
	}{
		"pod=default/nobody":                {http.StatusNotFound, "no failed attempt of pod default/nobody"},
		"pod=default/p&node=nowhere":        {http.StatusNotFound, "node nowhere was not refused"},
		"":                                  {http.StatusBadRequest, "is not NAMESPACE/NAME"},
		"pod=p":                             {http.StatusBadRequest, `pod "p" is not`},
		"pod=a/b/c":                         {http.StatusBadRequest, "is not NAMESPACE/NAME"},
		"pod=default/p&pod=default/q":       {http.StatusBadRequest, "given 2 times"},
		"pod=default/p&format=yaml":         {http.StatusBadRequest, "neither text nor json"},
		"pod=default/p&nodes=a":             {http.StatusBadRequest, `unknown parameter "nodes"`},
		"pod=" + url.QueryEscape("<b>/<i>"): {http.StatusNotFound, "<b>/<i>"},
	} {
		got := w.ask(query, "")
		if got.Code != want.code || !strings.Contains(got.Body.String(), want.says) || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s, want %d %q", query, got.Code, got.Body, want.code, want.says)
		}
	}
}

func TestTheEndpointSaysWhichClaimAPodWaitsFor(t *testing.T) {
	w := newWorld(t, parseObjects(t, explainObjects+"pod early claims=late\n"), "", stableFeatures())
	got := w.ask("pod=default/early", "")
	for _, want := range []string{"pod default/early (uid uid-early)", "not tried while its claims are missing", `refused before any node was asked: could not find resource claim "default/late"`} {
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%d, does not say %q:\n%s", got.Code, want, got.Body)
		}
	}
	if got := w.ask("pod=default/early&format=json", ""); strings.Contains(got.Body.String(), `"time"`) || !strings.Contains(got.Body.String(), `"refused": "could not find`) {
		t.Errorf("as JSON: %s", got.Body)
	}
	for _, pod := range []string{"p", "fine"} { // their claims are there, or they name none
		if got := w.ask("pod=default/"+pod, ""); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", pod, got.Code, got.Body)
		}
	}
}

// A pod that was deleted and made anew under its name is not told what kept the other
// one from being placed.
func TestAnAttemptIsThatOfThePodAndNotOfItsName(t *testing.T) {
	w := newWorld(t, parseObjects(t, explainObjects), "", stableFeatures())
	w.schedule("p")
	pods := w.api.CoreV1().Pods(testNamespace)
	pod, err := pods.Get(w.ctx, "p", metav1.GetOptions{})
	w.check(err)
	w.check(pods.Delete(w.ctx, "p", metav1.DeleteOptions{}))
	w.check(wait.PollUntilContextTimeout(w.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		_, exists, err := w.plugin.pods.GetByKey(testNamespace + "/p")
		return !exists, err
	}))
	if got := w.ask("pod=default/p", ""); got.Code != http.StatusOK {
		t.Errorf("of a pod that is gone: %d %s", got.Code, got.Body)
	}
	pod.UID, pod.ResourceVersion = "another", ""
	w.pods["p"], err = pods.Create(w.ctx, pod, metav1.CreateOptions{})
	w.check(err)
	w.check(wait.PollUntilContextTimeout(w.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		_, exists, err := w.plugin.pods.GetByKey(testNamespace + "/p")
		return exists, err
	}))
	if got := w.ask("pod=default/p", ""); got.Code != http.StatusNotFound {
		t.Errorf("of a new pod of the name: %d %s", got.Code, got.Body)
	}
	w.schedule("p")
	if got := w.ask("pod=default/p", ""); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "uid-p") {
		t.Errorf("of a new pod that was tried: %d %s", got.Code, got.Body)
	}
}

func TestSelectorsAreReadableInJSON(t *testing.T) {
	handler := explainHandler{func(types.NamespacedName) *attempt { return &attempt{Refused: "a && b"} }}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, explainPath+"?pod=default/p&format=json", nil))
	if !strings.Contains(recorder.Body.String(), "a && b") {
		t.Errorf("got %s", recorder.Body)
	}
}

func TestOnlyTheLastAttemptsAreKept(t *testing.T) {
	var k attempts
	name := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "default", Name: fmt.Sprint(i)}
	}
	for i := range keptAttempts + 1 {
		k.keep(name(0), &attempt{})
		k.keep(name(i), &attempt{})
	}
	if len(k.last) != keptAttempts || len(k.order) != keptAttempts {
		t.Errorf("%d attempts, %d in order", len(k.last), len(k.order))
	}
	if k.of(name(0)) == nil || k.of(name(1)) != nil || k.of(name(keptAttempts)) == nil {
		t.Error("not the pods that failed last are kept")
	}
	k.forget(name(0))
	k.forget(name(0))
	if k.of(name(0)) != nil || len(k.order) != keptAttempts-1 {
		t.Error("a pod that is forgotten is there")
	}
}

func TestProfilesShareAListenerThatEndsWithTheScheduler(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &Factory{ServeExplanations: true}
	if err := f.serveExplanations(ctx, address); err == nil || !strings.Contains(err.Error(), "explainAddress") || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("on an address that is taken: %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.serveExplanations(ctx, address); err != nil {
			t.Fatal(err)
		}
	}
	get := func() (int, error) {
		response, err := http.Get("http://" + address + explainPath + "?pod=default/p")
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	if code, err := get(); err != nil || code != http.StatusNotFound {
		t.Errorf("%d, %v", code, err)
	}
	response, err := http.Post("http://"+address+explainPath, "text/plain", nil)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %v, %v", response, err)
	}
	cancel()
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		_, err := get()
		return err != nil, nil
	})
	if err != nil {
		t.Error("it serves on after the end")
	}
	// Without the switch nothing is listened on, whatever the arguments say.
	if err := (&Factory{}).serveExplanations(t.Context(), "256.0.0.1:1"); err != nil {
		t.Error(err)
	}
}

func TestConnectionsOfSlowClientsEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newExplainServer(new(attempts).of, 20*time.Millisecond)
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	const asks = "GET " + explainPath + "?pod=default/p HTTP/1.1\r\nHost: x\r\n"
	for name, sends := range map[string]string{
		"says nothing":            "",
		"stops within the header": asks,
		"never sends its body":    asks + "Content-Length: 1000\r\n\r\n",
		"asks and stays":          asks + "\r\n",
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(sends)); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a client that %s: the server waits", name)
		}
	}
}

func TestConnectionsAreFew(t *testing.T) {
	address := freeAddress(t)
	f := &Factory{ServeExplanations: true}
	if err := f.serveExplanations(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	ask := func(conn net.Conn, within time.Duration) error {
		_ = conn.SetDeadline(time.Now().Add(within))
		if _, err := fmt.Fprintf(conn, "GET %s?pod=default/p HTTP/1.1\r\nHost: x\r\n\r\n", explainPath); err != nil {
			return err
		}
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	var open []net.Conn
	for range explainClients + 1 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	for _, conn := range open[:explainClients] {
		if err := ask(conn, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	last := open[explainClients]
	if err := ask(last, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one client too many: %v", err)
	}
	_ = open[0].Close()
	if err := ask(last, 10*time.Second); err != nil {
		t.Errorf("after another went: %v", err)
	}
}

// freeAddress is one that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestWithoutAnEndpointNothingIsExplainedInFull(t *testing.T) {
	w := newWorld(t, parseObjects(t, explainObjects), `{"explainAddress":""}`, stableFeatures())
	if said := w.schedule("p"); !strings.Contains(said, "matching devices are in use") {
		t.Error(said)
	}
	state, err := readState(w.cycle("p"))
	w.check(err)
	if len(state.examples) > 0 {
		t.Errorf("explained %d", len(state.examples))
	}
}
