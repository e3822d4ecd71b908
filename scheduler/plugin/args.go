package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// APIVersion and Kind of the arguments in a KubeSchedulerConfiguration. Both may
// be left out there.
const (
	APIVersion = "scheduler.dray.dev/v1alpha1"
	Kind       = "DrayDynamicResourcesArgs"
)

// AllocatorName says whose search decides.
type AllocatorName string

const (
	// AllocatorDray searches Dray's inventory, which is kept between pods.
	AllocatorDray AllocatorName = "dray"
	// AllocatorUpstream is Kubernetes' own allocator, made anew for each pod.
	AllocatorUpstream AllocatorName = "upstream"
)

// ReasonStyle says in whose words a pod is told why it does not fit.
type ReasonStyle string

const (
	// ReasonsDray name claim, request and cause.
	ReasonsDray ReasonStyle = "dray"
	// ReasonsUpstream are the texts of Kubernetes' plugin.
	ReasonsUpstream ReasonStyle = "upstream"
)

const (
	defaultFilterTimeout  = 10 * time.Second
	defaultBindingTimeout = 600 * time.Second
	defaultExplainAddress = "127.0.0.1:10269"
	minBindingTimeout     = time.Second
)

// Args are the plugin's arguments, as pluginConfig of a scheduler profile has
// them.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// FilterTimeout bounds the search for devices on one node; 0s means no bound.
	// The default is 10s. It needs the feature DRASchedulerFilterTimeout.
	FilterTimeout *metav1.Duration `json:"filterTimeout,omitempty"`
	// BindingTimeout is how long allocated devices may take to meet their binding
	// conditions, at least 1s. The default is 600s. It needs the features
	// DRADeviceBindingConditions and DRAResourceClaimDeviceStatus.
	BindingTimeout *metav1.Duration `json:"bindingTimeout,omitempty"`
	// Allocator is dray, the default, or upstream.
	Allocator AllocatorName `json:"allocator,omitempty"`
	// Reasons is dray, the default, or upstream.
	Reasons ReasonStyle `json:"reasons,omitempty"`
	// ExplainAddress is where dray-scheduler serves explanations, host:port. The
	// default is 127.0.0.1:10269, since explanations name devices and the endpoint
	// asks nobody who they are; "" serves none. Profiles with one address share it.
	ExplainAddress *string `json:"explainAddress,omitempty"`
}

// decodeArgs reads arguments in JSON or YAML, as the framework passes those of
// plugins that it does not know: nil, or bytes.
func decodeArgs(object runtime.Object) (Args, error) {
	var args Args
	if object == nil {
		return args, nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return args, fmt.Errorf("arguments are a %T: use apiVersion %s, kind %s", object, APIVersion, Kind)
	}
	if len(unknown.Raw) == 0 {
		return args, nil
	}
	raw, err := yaml.YAMLToJSON(unknown.Raw)
	if err != nil {
		return args, fmt.Errorf("arguments: %w", err)
	}
	// The names of fields are case-sensitive, as in all of the API.
	unread, err := json.UnmarshalStrict(raw, &args)
	if err != nil {
		err = cmp.Or(wrongDurations(raw), err)
	}
	if err = errors.Join(append(unread, err)...); err != nil {
		return args, fmt.Errorf("arguments: %w", err)
	}
	return args, nil
}

// wrongDurations names the arguments that are no durations, which the decoder's error
// does not do for all; nil if there are none.
func wrongDurations(raw []byte) error {
	var values map[string]any
	if json.UnmarshalCaseSensitivePreserveInts(raw, &values) != nil {
		return nil
	}
	var problems field.ErrorList
	for _, name := range []string{"filterTimeout", "bindingTimeout"} {
		value, said := values[name]
		if !said || value == nil {
			continue
		}
		text, ok := value.(string)
		if _, err := time.ParseDuration(text); !ok || err != nil {
			problems = append(problems, field.Invalid(field.NewPath(name), value, `has to be a duration, such as "10s"`))
		}
	}
	return problems.ToAggregate()
}

// withDefaults fills in what args leave out.
func (args Args) withDefaults() Args {
	if args.APIVersion == "" && args.Kind == "" {
		args.APIVersion, args.Kind = APIVersion, Kind
	}
	if args.FilterTimeout == nil {
		args.FilterTimeout = &metav1.Duration{Duration: defaultFilterTimeout}
	}
	if args.BindingTimeout == nil {
		args.BindingTimeout = &metav1.Duration{Duration: defaultBindingTimeout}
	}
	if args.Allocator == "" {
		args.Allocator = AllocatorDray
	}
	if args.Reasons == "" {
		args.Reasons = ReasonsDray
	}
	if args.ExplainAddress == nil {
		address := defaultExplainAddress
		args.ExplainAddress = &address
	}
	return args
}

// validate says what is wrong with args as they were written, before defaults. A
// value that no feature would use is refused: whoever set it expects an effect.
func (args Args) validate(features feature.Features) error {
	var problems field.ErrorList
	if args.APIVersion+args.Kind != "" && (args.APIVersion != APIVersion || args.Kind != Kind) {
		problems = append(problems, field.Invalid(field.NewPath("apiVersion"), args.APIVersion+" "+args.Kind, "has to be "+APIVersion+" "+Kind))
	}
	if timeout := args.FilterTimeout; timeout != nil {
		path := field.NewPath("filterTimeout")
		switch {
		case !features.EnableDRASchedulerFilterTimeout:
			problems = append(problems, field.Forbidden(path, "the feature gate DRASchedulerFilterTimeout is off"))
		case timeout.Duration < 0:
			problems = append(problems, field.Invalid(path, timeout.Duration.String(), "has to be 0s or more"))
		}
	}
	if timeout := args.BindingTimeout; timeout != nil {
		path := field.NewPath("bindingTimeout")
		switch {
		case !bindingConditionsOn(features):
			problems = append(problems, field.Forbidden(path, "the feature gate DRADeviceBindingConditions or DRAResourceClaimDeviceStatus is off"))
		case timeout.Duration < minBindingTimeout:
			problems = append(problems, field.Invalid(path, timeout.Duration.String(), "has to be 1s or more"))
		}
	}
	switch args.Allocator {
	case "", AllocatorDray, AllocatorUpstream:
	default:
		problems = append(problems, field.NotSupported(field.NewPath("allocator"), args.Allocator, []AllocatorName{AllocatorDray, AllocatorUpstream}))
	}
	switch args.Reasons {
	case "", ReasonsDray, ReasonsUpstream:
	default:
		problems = append(problems, field.NotSupported(field.NewPath("reasons"), args.Reasons, []ReasonStyle{ReasonsDray, ReasonsUpstream}))
	}
	if address := args.ExplainAddress; address != nil && *address != "" {
		_, port, err := net.SplitHostPort(*address)
		if number, numberErr := strconv.ParseUint(port, 10, 16); err != nil || numberErr != nil || number == 0 {
			problems = append(problems, field.Invalid(field.NewPath("explainAddress"), *address, `has to be host:port with a port from 1 to 65535, or "" to serve no explanations`))
		}
	}
	return problems.ToAggregate()
}

// errNodeAllocatable is why the plugin does not start with that feature.
var errNodeAllocatable = errors.New("the feature gate DRANodeAllocatableResources is on: " +
	"the scheduler looks for what that feature needs in the state of Kubernetes' own plugin alone, by its name; switch the gate off")

// checkFeatures refuses features that the plugin cannot serve.
func checkFeatures(features feature.Features) error {
	if features.EnableDRANodeAllocatableResources {
		return errNodeAllocatable
	}
	return nil
}

// bindingConditionsOn says whether devices with binding conditions are used.
func bindingConditionsOn(features feature.Features) bool {
	return features.EnableDRADeviceBindingConditions && features.EnableDRAResourceClaimDeviceStatus
}
