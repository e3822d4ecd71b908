package state

import (
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/fault"
)

// Instruction is a fault of a driver, which no hardware can make: the simulated
// driver reads it (View.Instructions) and obeys. The production driver knows nothing
// of it.
type Instruction struct {
	// Number is that of the event with which it was given, and tells it apart.
	Number uint64 `json:"number"`
	// Fault is one of DriverLate, HalfPublished, PoolVanished and SlowPrepare.
	Fault fault.Fault `json:"fault"`
	Since time.Time   `json:"since"`
	// Until is when it ends; zero if it ends when it was obeyed often enough.
	Until time.Time `json:"until,omitzero"`
	// Left is how often it is still to be obeyed, of one that counts (see
	// Folder.Obeyed); 0 for others.
	Left int `json:"left,omitempty"`
}

// active are the instructions that hold at a time.
func active(all []Instruction, now time.Time) []Instruction {
	var held []Instruction
	for _, i := range all {
		if i.Until.IsZero() || now.Before(i.Until) {
			held = append(held, i)
		}
	}
	return held
}

// Driver is whom the instruction concerns, "gpu", "nic", "fpga" or "compute-domain";
// empty for all.
func (i *Instruction) Driver() string {
	switch f := &i.Fault; {
	case f.DriverLate != nil:
		return f.DriverLate.Driver
	case f.HalfPublished != nil:
		return f.HalfPublished.Driver
	case f.PoolVanished != nil:
		return f.PoolVanished.Driver
	case f.SlowPrepare != nil:
		return f.SlowPrepare.Driver
	}
	return ""
}

// For says whether the instruction concerns a driver.
func (i *Instruction) For(driver string) bool { return i.Driver() == "" || i.Driver() == driver }

// instruct records a fault of a driver.
func (tx *Tx) instruct(f fault.Fault, lasts fault.Duration, times int) {
	i := Instruction{Number: tx.doc.LastEvent + uint64(len(tx.events)), Fault: f, Since: tx.now, Left: times}
	if lasts > 0 {
		i.Until = tx.now.Add(time.Duration(lasts))
	}
	tx.doc.Instructions = append(active(tx.doc.Instructions, tx.now), i)
}

// Obeyed says that a driver has obeyed an instruction that counts. It says whether
// the instruction still held: of two who obey the last one at a time, one has.
func (f *Folder) Obeyed(number uint64) (held bool, err error) {
	err = f.Update(func(tx *Tx) error {
		d := tx.doc
		i := slices.IndexFunc(d.Instructions, func(i Instruction) bool { return i.Number == number })
		if i < 0 {
			return nil
		}
		held = true
		if d.Instructions[i].Left == 0 {
			return nil
		}
		if d.Instructions[i].Left--; d.Instructions[i].Left == 0 {
			d.Instructions = slices.Delete(d.Instructions, i, i+1)
		}
		return nil
	})
	return held, err
}
