package state

import "time"

// Difference is what of a folder's files is not as its state says.
func Difference(f *Folder) (difference string, err error) {
	err = f.inStep(func(s *snapshot) error {
		if s.shown.files == nil {
			return nil
		}
		difference, err = s.shown.files.Difference(f.Root())
		return err
	})
	return difference, err
}

// WithPatience is how long the lock is waited for.
func WithPatience(d time.Duration) Option { return func(f *Folder) { f.patience = d } }

var (
	WithStep       = withStep
	DecodeDocument = decodeDocument
)
