package surface

import "errors"

// ReplaceInTwoSteps is replace on a system without exchange.
func ReplaceInTwoSteps(work, dir string) error {
	return replace(&workFolder{work, func() {}}, dir, func(_, _ string) error { return errors.ErrUnsupported })
}

var Advise = advise
