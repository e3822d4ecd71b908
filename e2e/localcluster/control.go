package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// controlSocket is where the program that runs a cluster is told to restart servers:
// they are its children, and it ends when one ends by itself.
func (f folder) controlSocket() string { return f.path("control.sock") }

// ServeControl does what other processes ask for by [Restart] and [UpdateDriver],
// until the context ends; when it returns, it does nothing more. The folder's owner
// alone can reach its socket.
func (c *Cluster) ServeControl(ctx context.Context) error {
	// It is a former program's: the lock is ours.
	if err := os.Remove(c.dir.controlSocket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", c.dir.controlSocket())
	if err != nil {
		return err
	}
	var one sync.Mutex // at a time
	ended := false
	do := func(w http.ResponseWriter, what func() error) {
		one.Lock()
		defer one.Unlock()
		if ended {
			http.Error(w, "the cluster is being stopped", http.StatusServiceUnavailable)
			return
		}
		if err := what(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /restart/{role}", func(w http.ResponseWriter, r *http.Request) {
		do(w, func() error {
			return c.restart(ctx, Role(r.PathValue("role")), r.URL.Query().Get("kill") == "true")
		})
	})
	mux.HandleFunc("POST /update-driver", func(w http.ResponseWriter, _ *http.Request) {
		do(w, func() error { return c.UpdateDriver(ctx) })
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err = server.Serve(listener)
	one.Lock() // what has begun is over
	defer one.Unlock()
	ended = true
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// restart ends a server, in order or as a crash would, and starts it again.
func (c *Cluster) restart(ctx context.Context, of Role, kill bool) error {
	if _, ok := roles[of]; !ok {
		return fmt.Errorf("no server is named %q; there are %v", of, Roles())
	}
	if kill {
		if err := c.Kill(of); err != nil {
			return err
		}
	} else {
		c.StopRole(of)
	}
	return c.StartRole(ctx, of)
}

// Restart has the program that runs the cluster in the folder restart a server, and
// returns when the server is ready again.
func Restart(ctx context.Context, dir string, of Role, kill bool) error {
	query := url.Values{"kill": {strconv.FormatBool(kill)}}
	return askOwner(ctx, dir, "/restart/"+url.PathEscape(string(of))+"?"+query.Encode())
}

// UpdateDriver has the program that runs the cluster in the folder replace the driver
// without a gap (Cluster.UpdateDriver).
func UpdateDriver(ctx context.Context, dir string) error { return askOwner(ctx, dir, "/update-driver") }

func askOwner(ctx context.Context, dir, path string) error {
	f, _, err := running(dir)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", f.controlSocket())
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://owner"+path, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the program that runs the cluster in %s does not answer: %w", f, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(body)))
	}
	return nil
}
