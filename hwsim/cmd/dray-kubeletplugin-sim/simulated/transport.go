package simulated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
)

// errKeptBack is what becomes of a slice that must be missing.
var errKeptBack = errors.New("the slice is kept back, as instructed")

// transport keeps back slices that must be missing.
type transport struct {
	obey *obedience
	next http.RoundTripper
}

func (o *obedience) wrap(next http.RoundTripper) http.RoundTripper { return &transport{o, next} }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/resourceslices") || request.URL.Query().Has("dryRun") {
		return t.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	request.Body.Close()
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Body = io.NopCloser(bytes.NewReader(body))
	index, err := indexOf(body)
	if err != nil {
		return nil, err
	}
	if t.obey.keptBack(index) {
		return nil, errKeptBack
	}
	return t.next.RoundTrip(request)
}

// indexOf is the number that a slice has in its pool, with which the helper lets its
// name begin.
func indexOf(body []byte) (int, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return 0, fmt.Errorf("a ResourceSlice that cannot be read: %w", err)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return 0, err
	}
	number, _, _ := strings.Cut(accessor.GetGenerateName(), "-")
	index, err := strconv.ParseInt(number, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("a ResourceSlice whose name does not begin with its number: %q", accessor.GetGenerateName())
	}
	return int(index), nil
}
