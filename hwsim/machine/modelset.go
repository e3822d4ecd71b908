package machine

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

//go:embed models/*.yaml
var modelFiles embed.FS

// embeddedModels are those of models/*.yaml. A mistake in them is ours, and a test
// finds it.
var embeddedModels = sync.OnceValues(func() (*modelSet, error) {
	set := newModelSet(nil)
	entries, err := modelFiles.ReadDir("models")
	if err != nil {
		return nil, err
	}
	files := make([]Models, len(entries))
	found := make([]*problems, len(entries))
	for i, entry := range entries {
		name := path.Join("models", entry.Name())
		text, err := modelFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found[i] = &problems{file: name, kind: "models", needs: "it has no models", places: map[string]place{}}
		found[i].decode(text, &files[i])
		set.add(found[i], "", &files[i])
	}
	// Files refer to tables of others, so they are checked when all are there.
	var all []error
	for i, p := range found {
		set.check(p, "", &files[i])
		all = append(all, p.err())
	}
	if err := errors.Join(all...); err != nil {
		return nil, fmt.Errorf("embedded models: %w", err)
	}
	return set, nil
})

// modelSet finds models and their tables by name. It is not changed once built.
type modelSet struct {
	outer      *modelSet // where to look for what is not here, or nil
	gpus       map[string]*GPUModel
	amdgpus    map[string]*AMDGPUModel
	nics       map[string]*NICModel
	fpgas      map[string]*FPGAModel
	migTables  map[string]*MIGTable
	geometries map[string]*MIGGeometry
	vgpuTables map[string]*VGPUTable
}

func newModelSet(outer *modelSet) *modelSet {
	return &modelSet{
		outer: outer,
		gpus:  map[string]*GPUModel{}, amdgpus: map[string]*AMDGPUModel{},
		nics: map[string]*NICModel{}, fpgas: map[string]*FPGAModel{},
		migTables: map[string]*MIGTable{}, geometries: map[string]*MIGGeometry{}, vgpuTables: map[string]*VGPUTable{},
	}
}

// find looks a name up in the set and those around it.
func find[M any](s *modelSet, in func(*modelSet) map[string]*M, name string) *M {
	for ; s != nil; s = s.outer {
		if m := in(s)[name]; m != nil {
			return m
		}
	}
	return nil
}

// model is a model of whichever kind has the name, or nil. A name means the
// innermost model that has it, whatever its kind.
func (s *modelSet) model(name string) any {
	for ; s != nil; s = s.outer {
		switch {
		case s.gpus[name] != nil:
			return s.gpus[name]
		case s.amdgpus[name] != nil:
			return s.amdgpus[name]
		case s.nics[name] != nil:
			return s.nics[name]
		case s.fpgas[name] != nil:
			return s.fpgas[name]
		}
	}
	return nil
}

func (s *modelSet) migTable(name string) *MIGTable {
	return find(s, func(s *modelSet) map[string]*MIGTable { return s.migTables }, name)
}

func (s *modelSet) geometry(name string) *MIGGeometry {
	return find(s, func(s *modelSet) map[string]*MIGGeometry { return s.geometries }, name)
}

func (s *modelSet) vgpuTable(name string) *VGPUTable {
	return find(s, func(s *modelSet) map[string]*VGPUTable { return s.vgpuTables }, name)
}

// names of all models, sorted.
func (s *modelSet) names() []string {
	var names []string
	for ; s != nil; s = s.outer {
		names = appendKeys(names, s.gpus)
		names = appendKeys(names, s.amdgpus)
		names = appendKeys(names, s.nics)
		names = appendKeys(names, s.fpgas)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func appendKeys[M any](names []string, models map[string]M) []string {
	for name := range models {
		names = append(names, name)
	}
	return names
}

// add takes models up and reports names that are there twice.
func (s *modelSet) add(p *problems, path string, m *Models) {
	first := map[string]string{} // name → path, of models
	models := func(list string, i int, name string) {
		at := index(field(path, list), i) + ".name"
		p.checkName(at, name)
		switch {
		case first[name] != "":
			p.add(at, "%q is also the model in line %d", name, p.line(first[name]))
		case s.model(name) != nil && s.outer == nil:
			p.add(at, "%q is also a model of another file", name)
		default:
			first[name] = at
		}
	}
	for i := range m.GPUs {
		models("gpus", i, m.GPUs[i].Name)
		s.gpus[m.GPUs[i].Name] = &m.GPUs[i]
	}
	for i := range m.AMDGPUs {
		models("amdgpus", i, m.AMDGPUs[i].Name)
		s.amdgpus[m.AMDGPUs[i].Name] = &m.AMDGPUs[i]
	}
	for i := range m.NICs {
		models("nics", i, m.NICs[i].Name)
		s.nics[m.NICs[i].Name] = &m.NICs[i]
	}
	for i := range m.FPGAs {
		models("fpgas", i, m.FPGAs[i].Name)
		s.fpgas[m.FPGAs[i].Name] = &m.FPGAs[i]
	}
	addTables(p, field(path, "migTables"), m.MIGTables, s.migTables, func(t *MIGTable) string { return t.Name })
	addTables(p, field(path, "migGeometries"), m.MIGGeometries, s.geometries, func(t *MIGGeometry) string { return t.Name })
	addTables(p, field(path, "vgpuTables"), m.VGPUTables, s.vgpuTables, func(t *VGPUTable) string { return t.Name })
}

func addTables[T any](p *problems, path string, tables []T, into map[string]*T, name func(*T) string) {
	for i := range tables {
		at := index(path, i) + ".name"
		p.checkName(at, name(&tables[i]))
		if into[name(&tables[i])] != nil {
			p.add(at, "%q is there twice", name(&tables[i]))
		}
		into[name(&tables[i])] = &tables[i]
	}
}

// maxName is the longest name of a machine or model.
const maxName = 63

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (p *problems) checkName(path, name string) {
	switch {
	case name == "":
		p.add(path, "is missing")
	case len(name) > maxName:
		p.add(path, "%q is longer than %d characters", name, maxName)
	case !nameForm.MatchString(name):
		p.add(path, "%q is not a name: it has lower-case letters, digits and dashes, the dashes between them", name)
	}
}

// closest is the name that is least edits away, for messages; empty if all are far.
func closest(name string, names []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if d := editDistance(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// editDistance counts the characters to insert, delete or replace.
func editDistance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return 2 * maxName
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// unknownModel reports a name that no model has.
func (p *problems) unknownModel(path, name string, models *modelSet) {
	switch like := closest(name, models.names()); {
	case name == "":
		p.add(path, "is missing")
	case like != "":
		p.add(path, "there is no model %q; do you mean %q?", name, like)
	default:
		p.add(path, "there is no model %q; describe it under models, or take one of %s", name,
			strings.Join(models.names(), ", "))
	}
}

// sizeKind is NVML's number of a size, or false.
func sizeKind(size string) (hardware.GPUInstanceProfileKind, bool) {
	kind := slices.Index(sizeKinds[:], size)
	return hardware.GPUInstanceProfileKind(kind), kind >= 0
}
