package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pairs is a flag that is repeated for each KEY=VALUE. Everything after the first
// equals sign is the value, commas and all. A key that is there twice is a mistake:
// one of the values would be lost.
type pairs map[string]string

// Set is part of the interface of flags.
func (p *pairs) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return fmt.Errorf("%q must look like KEY=VALUE", text)
	}
	if other, ok := (*p)[key]; ok {
		return fmt.Errorf("%s is there already, as %q", key, other)
	}
	if *p == nil {
		*p = pairs{}
	}
	(*p)[key] = value
	return nil
}

// String is part of the interface of flags.
func (p *pairs) String() string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(*p)) {
		words = append(words, key+"="+(*p)[key])
	}
	return strings.Join(words, " ")
}

// Type is part of the interface of flags.
func (p *pairs) Type() string { return "KEY=VALUE" }
