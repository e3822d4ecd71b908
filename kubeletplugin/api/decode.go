package api

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
)

// versioned is a type as it is written in a claim.
type versioned interface {
	// config checks the values and fills in defaults.
	config() (Config, error)
}

// Decode reads one configuration: JSON with apiVersion and kind. Errors are of
// type *Error.
func Decode(parameters []byte) (Config, error) {
	var meta metav1.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(parameters, &meta); err != nil {
		return nil, wrong("", "the parameters are not a JSON object: %w", err)
	}
	if meta.APIVersion == "" || meta.Kind == "" {
		return nil, wrong("", "apiVersion and kind are needed; there are %s", known())
	}
	group, err := schema.ParseGroupVersion(meta.APIVersion)
	if err != nil {
		return nil, wrong("apiVersion", "%w", err)
	}
	decode := kinds[group.WithKind(meta.Kind)]
	if decode == nil {
		return nil, wrong("kind", "there is no %q in %q; there are %s", meta.Kind, meta.APIVersion, known())
	}
	return decode(parameters)
}

// decode reads one kind strictly.
func decode[T versioned](parameters []byte) (Config, error) {
	var value T
	strict, err := json.UnmarshalStrict(parameters, &value)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil {
		return nil, wrong("", "%w", err)
	}
	return value.config()
}

// known lists the kinds, for a message.
func known() string {
	var names []string
	for kind := range kinds {
		names = append(names, kind.Kind+" of "+kind.GroupVersion().String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// oneOf is an error unless the value is one of those listed.
func oneOf(field, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return wrong(field, "%q is not one of %s", value, strings.Join(values, ", "))
}
