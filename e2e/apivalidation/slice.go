// Package apivalidation asks the API server's own code what it would make of an
// object, without a server: defaulting, the dropping of fields whose feature is
// off, and validation, as they run for a request that creates the object.
package apivalidation

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install" // the conversions of the API group
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
)

// Slice creates a slice as the API server would, under the feature gates of the
// process, and returns what it would store. The error is the one that a client
// would see.
func Slice(slice *resourceapi.ResourceSlice) (*resourceapi.ResourceSlice, error) {
	internal := &resource.ResourceSlice{}
	defaulted := slice.DeepCopy()
	legacyscheme.Scheme.Default(defaulted)
	if err := legacyscheme.Scheme.Convert(defaulted, internal, nil); err != nil {
		return nil, fmt.Errorf("ResourceSlice %s: %w", slice.Name, err)
	}
	rest.FillObjectMetaSystemFields(internal)
	if err := rest.BeforeCreate(resourceslice.Strategy, create("resourceslices"), internal); err != nil {
		return nil, err
	}
	stored := &resourceapi.ResourceSlice{}
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, fmt.Errorf("ResourceSlice %s: %w", slice.Name, err)
	}
	return stored, nil
}

// Class is Slice for a DeviceClass.
func Class(class *resourceapi.DeviceClass) (*resourceapi.DeviceClass, error) {
	internal := &resource.DeviceClass{}
	defaulted := class.DeepCopy()
	legacyscheme.Scheme.Default(defaulted)
	if err := legacyscheme.Scheme.Convert(defaulted, internal, nil); err != nil {
		return nil, fmt.Errorf("DeviceClass %s: %w", class.Name, err)
	}
	rest.FillObjectMetaSystemFields(internal)
	if err := rest.BeforeCreate(deviceclass.Strategy, create("deviceclasses"), internal); err != nil {
		return nil, err
	}
	stored := &resourceapi.DeviceClass{}
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, fmt.Errorf("DeviceClass %s: %w", class.Name, err)
	}
	return stored, nil
}

// create is the context of a request to create an object, which validation that
// depends on the version of the API reads.
func create(resource string) context.Context {
	gv := schema.GroupVersion{Group: resourceapi.GroupName, Version: "v1"}
	// Objects without a namespace are created in the namespace "".
	ctx := request.WithNamespace(context.Background(), "")
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: gv.Group, APIVersion: gv.Version, Resource: resource,
	})
}

// Kept says whether what is stored has everything that was sent in its spec:
// the API server drops fields whose feature gate is off without a word. Taints
// must say when they were added, or the server's clock decides.
func Kept(sent, stored *resourceapi.ResourceSlice) bool {
	defaulted := sent.DeepCopy()
	legacyscheme.Scheme.Default(defaulted)
	return apiequality.Semantic.DeepEqual(defaulted.Spec, stored.Spec)
}
