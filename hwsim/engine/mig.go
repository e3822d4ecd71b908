package engine

import "slices"

// find a GPU instance by ID, or nil.
func (m *MIG) find(id int) *GPUInstance {
	i := slices.IndexFunc(m.Instances, func(g GPUInstance) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return &m.Instances[i]
}
