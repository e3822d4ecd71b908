package driver

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestASocketWhosePathIsTooLongIsRefusedEarly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	options := newDriver(t, nil).options
	options.Folders = KubeletFolders(dir, driverName, dir)
	if _, err := New(options); err == nil || !strings.Contains(err.Error(), "shorter name") {
		t.Errorf("%v", err)
	}
}
