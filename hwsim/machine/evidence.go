package machine

import (
	"slices"
	"strings"
)

// Confidence says how sure a figure is.
type Confidence string

// The marks, from sure to doubtful.
const (
	// Read in the named source.
	Read Confidence = "S"
	// Derived from what was read, by arithmetic or logic.
	Derived Confidence = "D"
	// Known in general, and not checked against a source.
	Known Confidence = "K"
	// Doubtful: sources disagree, are thin, or the value is made up to have one.
	Doubtful Confidence = "?"
)

// Confidences are all marks, from sure to doubtful.
var Confidences = [...]Confidence{Read, Derived, Known, Doubtful}

// Evidence says where figures come from and how sure they are. It stands beside
// the figures in their file.
type Evidence struct {
	// Of names the figures: "PCIe roots". Empty means all that no other entry
	// beside it names; what hwsim ships has such an entry at the end of each list.
	Of         string     `json:"of,omitempty"`
	Confidence Confidence `json:"confidence"`
	// Source is a document, a program's output or the reasoning.
	Source string `json:"source"`
}

// Marks are the marks that occur in any of the lists, from sure to doubtful:
// "SDK". Empty where nothing is marked.
func Marks(lists ...[]Evidence) string {
	var marks strings.Builder
	for _, mark := range Confidences {
		if occurs(mark, lists) {
			marks.WriteString(string(mark))
		}
	}
	return marks.String()
}

func occurs(mark Confidence, lists [][]Evidence) bool {
	for _, list := range lists {
		for _, e := range list {
			if e.Confidence == mark {
				return true
			}
		}
	}
	return false
}

// checkEvidence reports marks that do not exist, and entries without a source.
func (p *problems) checkEvidence(path string, list []Evidence) {
	for i, e := range list {
		at := index(path, i)
		if !slices.Contains(Confidences[:], e.Confidence) {
			p.add(at+".confidence", "%q is not one of S (read), D (derived), K (known), ? (doubtful)", e.Confidence)
		}
		if e.Source == "" {
			p.add(at+".source", "is missing: name what the figures were taken from")
		}
	}
}
