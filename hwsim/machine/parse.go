package machine

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Parse reads a machine file: YAML, or JSON, which is YAML. The name stands in
// errors. Whatever is wrong with the text is a *FileError, with the line and the
// field of each problem: all that YAML itself or the types of fields rule out, and
// if there are none, all that contradict each other or name what is not there.
func Parse(name string, text []byte) (*Machine, error) {
	embedded, err := embeddedModels()
	if err != nil {
		return nil, err
	}
	p := &problems{file: name, kind: "machine", needs: "a machine needs at least a name, a kind and devices", places: map[string]place{}}
	m := &Machine{}
	p.decode(text, &m.file)
	if len(p.list) == 0 {
		m.build(p, "", embedded)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return m, nil
}

// build checks a file that has been decoded into m.file, and makes the rest of m.
func (m *Machine) build(p *problems, path string, embedded *modelSet) {
	file := &m.file
	p.checkName(field(path, "name"), file.Name)
	p.checkEvidence(field(path, "evidence"), file.Evidence)
	m.models = embedded
	if file.Models != nil {
		m.models = newModelSet(embedded)
		m.models.add(p, field(path, "models"), file.Models)
		m.models.check(p, field(path, "models"), file.Models)
		if len(p.list) > 0 {
			return // what follows trusts the models
		}
	}
	switch file.Kind {
	case NodeKind, RackKind, PoolKind:
	case "":
		p.add(field(path, "kind"), "is missing: node, rack or pool")
		return
	default:
		p.add(field(path, "kind"), "%q is not a kind of machine: node, rack or pool", file.Kind)
		return
	}
	p.checkKind(path, file)
	switch file.Kind {
	case NodeKind:
		m.node = buildNode(p, path, &file.NodeFile, m.models)
	case RackKind:
		m.buildRack(p, path, embedded)
	case PoolKind:
		m.buildPool(p, path)
	}
}

// checkKind reports fields of other kinds of machine.
func (p *problems) checkKind(path string, file *File) {
	for _, has := range []struct {
		name string
		of   Kind
		set  bool
	}{
		{"architecture", NodeKind, file.Architecture != ""},
		{"numa", NodeKind, len(file.NUMA) > 0},
		{"memoryGiB", NodeKind, file.MemoryGiB != 0},
		{"iommu", NodeKind, file.IOMMU},
		{"nvidia", NodeKind, file.NVIDIA != nil},
		{"amd", NodeKind, file.AMD != nil},
		{"roots", NodeKind, len(file.Roots) > 0},
		{"members", RackKind, len(file.Members) > 0},
		{"machines", RackKind, len(file.Machines) > 0},
		{"nodeLabels", PoolKind, len(file.NodeLabels) > 0},
		{"devices", PoolKind, len(file.Devices) > 0},
	} {
		if has.set && has.of != file.Kind {
			p.add(field(path, has.name), "a machine of kind %s has no such field; kind %s has", file.Kind, has.of)
		}
	}
}

// buildRack finds the machines of a rack's members.
func (m *Machine) buildRack(p *problems, path string, embedded *modelSet) {
	own := map[string]*Machine{}
	for i := range m.file.Machines {
		at := index(field(path, "machines"), i)
		machine := &Machine{file: m.file.Machines[i]}
		if own[machine.file.Name] != nil {
			p.add(at+".name", "%q is there twice", machine.file.Name)
		}
		if machine.file.Kind != NodeKind {
			p.add(at+".kind", "the members of a rack are of kind node")
			continue
		}
		machine.build(p, at, embedded)
		own[machine.file.Name] = machine
	}
	if len(m.file.Members) == 0 {
		p.add(field(path, "members"), "is missing: a rack has nodes")
	}
	count := 0
	for i, file := range m.file.Members {
		at := index(field(path, "members"), i)
		p.within(at+".count", file.Count, 1, maxCount)
		p.within(at+".clique", file.Clique, 0, maxClique)
		if file.NodeName != "" && !strings.Contains(file.NodeName, "{place}") {
			p.add(at+".nodeName", "%q is the same name for all: it must have {place} in it", file.NodeName)
		}
		if len(file.NodeName) > maxName {
			p.add(at+".nodeName", "is longer than %d characters", maxName)
		} else if name := strings.NewReplacer("{rack}", "r", "{place}", "00").Replace(file.NodeName); name != "" && !nodeNameForm.MatchString(name) {
			p.add(at+".nodeName", "%q is not the name of a node: it has lower-case letters, digits, dots and dashes, the last two between others", file.NodeName)
		}
		if count += max(0, file.Count); count > maxCount {
			p.add(at+".count", "makes more than %d nodes", maxCount)
			return
		}
		machine, err := own[file.Machine], error(nil)
		if machine == nil {
			if machine, err = Load(file.Machine); err != nil {
				p.add(at+".machine", "%v", err)
				continue
			}
		}
		if machine.file.Kind != NodeKind {
			p.add(at+".machine", "%s is of kind %s; the members of a rack are of kind node", file.Machine, machine.file.Kind)
			continue
		}
		m.members = append(m.members, member{file, machine})
	}
	m.checkNodeNames(p, path)
}

// checkNodeNames reports members whose names can meet: those of different forms.
func (m *Machine) checkNodeNames(p *problems, path string) {
	if len(p.list) > 0 {
		return
	}
	count, place, names := m.NodeCount(), 0, map[string]int{}
	for i := range m.members {
		for range m.members[i].file.Count {
			name := m.members[i].nodeName("rack", place, count)
			if first, taken := names[name]; taken {
				p.add(index(field(path, "members"), i)+".nodeName", "names the node at place %d as the one at place %d", place, first)
				return
			}
			names[name] = place
			place++
		}
	}
}

// maxDomain is the longest domain before the name in a label's key.
const maxDomain = 253

// Names as Kubernetes has them.
var (
	nodeNameForm   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelKeyForm   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	labelValueForm = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
)

// buildPool makes the devices of a pool.
func (m *Machine) buildPool(p *problems, path string) {
	if len(m.file.Devices) == 0 {
		p.add(field(path, "devices"), "is missing: a pool has devices")
	}
	for _, key := range slices.Sorted(maps.Keys(m.file.NodeLabels)) {
		if !labelKeyForm.MatchString(key) || len(key[strings.Index(key, "/")+1:]) > maxName || len(key) > maxDomain+1+maxName {
			p.add(field(path, "nodeLabels"), "%q is not the key of a label", key)
			continue
		}
		value := strings.ReplaceAll(m.file.NodeLabels[key], "{pool}", "p")
		if len(value) > maxName || value != "" && !labelValueForm.MatchString(value) {
			p.add(field(path, "nodeLabels")+"."+key, "%q is not the value of a label: it has at most %d letters, digits, dots, dashes and underscores, "+
				"the last three between others", m.file.NodeLabels[key], maxName)
		}
	}
	names := map[string]bool{}
	for i, file := range m.file.Devices {
		at := index(field(path, "devices"), i)
		p.within(at+".count", file.Count, 1, maxCount)
		device := hardware.FabricDevice{}
		switch model := m.models.model(file.Model).(type) {
		case *GPUModel:
			device.Type, device.Model, device.MemoryBytes = "gpu", model.Product, mib(model.MemoryMiB)
		case *AMDGPUModel:
			device.Type, device.Model, device.MemoryBytes = "gpu", model.Product, mib(model.MemoryMiB)
		case *NICModel:
			device.Type, device.Model = "nic", model.Product
		case *FPGAModel:
			device.Type, device.Model, device.MemoryBytes = "fpga", model.Product, mib(model.MemoryMiB)
		default:
			p.unknownModel(at+".model", file.Model, m.models)
			continue
		}
		form := file.Name
		if form == "" {
			form = file.Model + "-{n}"
		}
		if file.Count > 1 && !strings.Contains(form, "{n}") {
			p.add(at+".name", "%q is the same name for all: it must have {n} in it", form)
			continue
		}
		for n := range min(file.Count, maxCount) {
			device.Name = strings.ReplaceAll(form, "{n}", strconv.Itoa(n))
			if len(p.list) == 0 {
				p.checkName(at+".name", device.Name)
			}
			if names[device.Name] {
				p.add(at+".name", "%q is there twice", device.Name)
				break
			}
			names[device.Name] = true
			m.devices = append(m.devices, device)
		}
		if len(m.devices) > maxCount {
			p.add(at+".count", "makes more than %d devices", maxCount)
			return
		}
	}
}
