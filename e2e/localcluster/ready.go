package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// poll is how often a condition is looked at that has no event.
	poll = 50 * time.Millisecond
	// slowPoll is the same where a look is work for the API server.
	slowPoll = 250 * time.Millisecond
	// readyWait bounds a server's start. On a machine that is busy with other
	// things an API server takes half a minute.
	readyWait = 3 * time.Minute
)

// healthClient calls the servers' health endpoints as the cluster's own client.
func healthClient(dir folder) (*http.Client, error) {
	authority, err := os.ReadFile(dir.pki("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", dir.pki("ca.crt"))
	}
	pair, err := tls.LoadX509KeyPair(dir.pki("admin.crt"), dir.pki("admin.key"))
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			// A server that starts anew must not meet the connections of the last one.
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		},
	}, nil
}

// awaitReady returns when the server answers that it is ready, has ended, or the
// time is over.
func (c *Cluster) awaitReady(ctx context.Context, server *child) error {
	var last error
	pause := poll
	if !server.role.hasPort() {
		pause = slowPoll
	}
	err := wait.PollUntilContextTimeout(ctx, pause, readyWait, true, func(ctx context.Context) (bool, error) {
		select {
		case <-server.ended:
			return false, server.obituary()
		default:
		}
		last = c.probe(ctx, server.role)
		return last == nil, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s is not ready after %s: %w; the end of %s:\n%s", server.role, readyWait, last, server.log, logEnd(server.log))
	}
	return err
}

// probe returns nil if the server can be used.
func (c *Cluster) probe(ctx context.Context, of Role) error {
	if !of.hasPort() {
		return roles[of].isReady(ctx, c)
	}
	return probe(ctx, c.health, c.url(of, roles[of].ready))
}

func probe(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status + " " + strings.TrimSpace(string(body)))
	}
	return nil
}
