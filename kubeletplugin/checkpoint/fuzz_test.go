package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
)

// FuzzCheckpoint reads a document of any content, and one whose content of v1 is
// any and has the right checksum. What can be read can be written and read again.
func FuzzCheckpoint(f *testing.F) {
	golden, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden, false)
	f.Add([]byte(`{"driver":"d","node":"n","claims":[{"uid":"a","state":"started","devices":`+
		`[{"kind":"gpu","device":"gpu-0","lock":"<","plan":{ "a": "<" }}]}]}`), true)
	f.Add([]byte(`{"driver":"d","node":"n","claims":[null]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, wrapped bool) {
		if wrapped {
			var compact bytes.Buffer
			if json.Compact(&compact, data) != nil {
				return
			}
			data = fmt.Appendf(nil, `{"kind":%q,"versions":{%q:{"checksum":%q,"content":%s}}}`,
				documentKind, version1, checksum(compact.Bytes()), data)
		}
		claims, err := decode(data, "d", "n")
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
				t.Errorf("no kind of error: %v", err)
			}
			return
		}
		first, err := encode("d", "n", claims)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(first, "d", "n")
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := encode("d", "n", again)
		if err != nil || !bytes.Equal(first, second) || len(again) != len(claims) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
	})
}
