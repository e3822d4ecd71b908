package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// documentKind tells a checkpoint of ours from any other file.
const documentKind = "dray.dev/checkpoint"

// What is wrong with a file that is there.
var (
	// ErrCorrupt: the file is damaged, cut off, or says what cannot be.
	ErrCorrupt = errors.New("the checkpoint is damaged")
	// ErrForeign: the file is not a checkpoint, or one of another driver or node.
	ErrForeign = errors.New("the file is not this driver's checkpoint")
	// ErrNewer: a later release wrote the file, and not for this one to read.
	ErrNewer = errors.New("the checkpoint is of a later release")
)

type document struct {
	Kind     string             `json:"kind"`
	Versions map[string]section `json:"versions"`
}

type section struct {
	Checksum string          `json:"checksum"`
	Content  json.RawMessage `json:"content"`
}

// content is what version v1 says.
type content struct {
	Driver string   `json:"driver"`
	Node   string   `json:"node"`
	Claims []*Claim `json:"claims"` // by UID
}

const version1 = "v1"

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// encode is deterministic: claims by UID.
func encode(driver, node string, claims map[types.UID]*Claim) ([]byte, error) {
	c := content{Driver: driver, Node: node, Claims: make([]*Claim, 0, len(claims))}
	for _, uid := range slices.Sorted(maps.Keys(claims)) {
		c.Claims = append(c.Claims, claims[uid])
	}
	data, err := json.Marshal(&c)
	if err != nil {
		return nil, err
	}
	d, err := json.Marshal(&document{Kind: documentKind, Versions: map[string]section{version1: {checksum(data), data}}})
	return append(d, '\n'), err
}

// decode returns the claims of a document, or why it cannot be read.
func decode(data []byte, driver, node string) (map[types.UID]*Claim, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if d.Kind != documentKind {
		return nil, fmt.Errorf("%w: its kind is %q, not %q", ErrForeign, d.Kind, documentKind)
	}
	s, ok := d.Versions[version1]
	if !ok {
		if len(d.Versions) == 0 {
			return nil, fmt.Errorf("%w: it has no versions", ErrCorrupt)
		}
		return nil, fmt.Errorf("%w: it has %s, and this release reads %s",
			ErrNewer, strings.Join(slices.Sorted(maps.Keys(d.Versions)), ", "), version1)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Content); err != nil {
		return nil, fmt.Errorf("%w: versions.%s.content: %w", ErrCorrupt, version1, err)
	}
	if sum := checksum(compact.Bytes()); sum != s.Checksum {
		return nil, fmt.Errorf("%w: versions.%s: the checksum of the content is %s, not %q", ErrCorrupt, version1, sum, s.Checksum)
	}
	var c content
	if err := json.Unmarshal(s.Content, &c); err != nil {
		return nil, fmt.Errorf("%w: versions.%s.content: %w", ErrCorrupt, version1, err)
	}
	if c.Driver != driver || c.Node != node {
		return nil, fmt.Errorf("%w: it is of driver %q on node %q, not of %q on %q", ErrForeign, c.Driver, c.Node, driver, node)
	}
	return index(c.Claims)
}

// index checks what the code relies on.
func index(list []*Claim) (map[types.UID]*Claim, error) {
	claims := make(map[types.UID]*Claim, len(list))
	for i, claim := range list {
		wrong := func(field, format string, arguments ...any) error {
			return fmt.Errorf("%w: claims[%d].%s: %s", ErrCorrupt, i, field, fmt.Sprintf(format, arguments...))
		}
		switch {
		case claim == nil:
			return nil, fmt.Errorf("%w: claims[%d] is null", ErrCorrupt, i)
		case claim.UID == "":
			return nil, wrong("uid", "it is missing")
		case claims[claim.UID] != nil:
			return nil, wrong("uid", "%s is there twice", claim.UID)
		case claim.State != Started && claim.State != Completed:
			return nil, wrong("state", "%q is no state", claim.State)
		}
		for j := range claim.Devices {
			d := &claim.Devices[j]
			if d.Kind == "" || d.Device == "" || d.Lock == "" {
				return nil, wrong(fmt.Sprintf("devices[%d]", j), "kind, device and lock are needed")
			}
		}
		claims[claim.UID] = claim
	}
	return claims, nil
}
