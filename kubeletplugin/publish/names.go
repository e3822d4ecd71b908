package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// sliceName names the i-th of n slices of a pool. Schedulers read the slices of a
// pool in the order of their names, so numbers have leading zeros; names that
// would be too long end in a hash instead of the pool's full name.
func sliceName(pool, driver string, i, n int) string {
	digits := max(3, len(fmt.Sprint(n-1)))
	suffix := fmt.Sprintf("-%s-%0*d", driver, digits, i)
	base := strings.ReplaceAll(pool, "/", "-")
	if len(base)+len(suffix) > validation.DNS1123SubdomainMaxLength {
		sum := sha256.Sum256([]byte(pool))
		tail := "-" + hex.EncodeToString(sum[:5])
		base = strings.TrimRight(base[:validation.DNS1123SubdomainMaxLength-len(suffix)-len(tail)], "-.") + tail
	}
	return base + suffix
}

// dashed is the address as part of a device name: "0000-1b-00-0".
func dashed(a hardware.PCIAddress) string {
	return fmt.Sprintf("%04x-%02x-%02x-%x", a.Domain, a.Bus, a.Device, a.Function)
}

// label makes a name a DNS label's part: lower-case, dots dropped, all other
// characters dashes. "1g.5gb+me" is "1g5gb-me".
func label(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '.':
		default:
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// isLabel is validation.IsDNS1123Label without regular expressions: it runs for
// every device of a fleet.
func isLabel(s string) bool {
	if len(s) == 0 || len(s) > validation.DNS1123LabelMaxLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// isIdentifier is content.IsCIdentifier, likewise.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// isHexID says whether s is 32 lower-case hex digits.
func isHexID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func checkDriver(name string) error {
	if len(name) > 63 {
		return fmt.Errorf("%q has more than 63 characters", name)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q: %s", name, problems[0])
	}
	return nil
}

func checkExtendedResource(name string) error {
	domain, _, ok := strings.Cut(name, "/")
	switch {
	case !ok, domain == "kubernetes.io", strings.HasSuffix(domain, ".kubernetes.io"), strings.HasPrefix(name, "requests."):
		return fmt.Errorf("%q is not an extended resource name: it must have a domain that is not Kubernetes' own", name)
	}
	if problems := validation.IsQualifiedName("requests." + name); len(problems) > 0 {
		return fmt.Errorf("%q: %s", name, problems[0])
	}
	return nil
}

// version makes a version the three numbers that the API wants, without leading
// zeros: "9.0" is "9.0.0", "535.104.05" is "535.104.5". What follows the numbers
// after a dash or a plus stays.
func version(text string) (string, error) {
	numbers, rest := text, ""
	if i := strings.IndexAny(text, "-+"); i >= 0 {
		numbers, rest = text[:i], text[i:]
	}
	parts := strings.Split(numbers, ".")
	if len(parts) > 3 {
		return "", fmt.Errorf("%q has more than three numbers", text)
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	for i, part := range parts {
		if parts[i] = strings.TrimLeft(part, "0"); parts[i] == "" && part != "" {
			parts[i] = "0"
		}
	}
	result := strings.Join(parts, ".") + rest
	if !isSemver(result) {
		return "", fmt.Errorf("%q is not a version", text)
	}
	return result, nil
}

var errNoNodeName = errors.New("the name of the node is missing")
