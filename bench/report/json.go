package report

import (
	"encoding/json"
	"io"
	"math"
)

// The types below are the form of the results in JSON.
type (
	jsonResults struct {
		Config map[string]string `json:"config"`
		Rows   []jsonRow         `json:"rows"`
	}
	jsonRow struct {
		Operation       string              `json:"operation"`
		Name            string              `json:"name"`
		Implementations map[string]jsonCell `json:"implementations"`
		// Ratios say how many times as long an implementation takes as ours.
		Ratios map[string]jsonRatio `json:"ratios,omitempty"`
	}
	jsonCell struct {
		NotFinishedSeconds float64                 `json:"notFinishedSeconds,omitempty"`
		Measurements       map[string]jsonInterval `json:"measurements"`
	}
	jsonInterval struct {
		Median  float64   `json:"median"`
		Low     *float64  `json:"low,omitempty"`
		High    *float64  `json:"high,omitempty"`
		Samples []float64 `json:"samples"`
	}
	jsonRatio struct {
		Median  float64  `json:"median"`
		Low     *float64 `json:"low,omitempty"`
		High    *float64 `json:"high,omitempty"`
		AtLeast bool     `json:"atLeast,omitempty"`
		Same    bool     `json:"same,omitempty"`
	}
)

// JSON writes everything that was measured and computed. An end of an interval
// that is not known is left out.
func (r *Results) JSON(w io.Writer) error {
	out := jsonResults{Config: make(map[string]string)}
	for _, c := range r.Config {
		out.Config[c.Key] = string(c.Value)
	}
	for _, row := range r.Rows {
		out.Rows = append(out.Rows, row.json())
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

func (r *Row) json() jsonRow {
	row := jsonRow{Operation: r.Op, Name: r.Name, Implementations: make(map[string]jsonCell), Ratios: make(map[string]jsonRatio)}
	for name, cell := range r.Cells {
		row.Implementations[name] = cell.json()
		if name == dray {
			continue
		}
		if ratio, ok := ratio(r.Cells[dray], cell); ok {
			row.Ratios[name] = jsonRatio{Median: ratio.Center, Low: known(ratio.Lo), High: known(ratio.Hi), AtLeast: ratio.AtLeast, Same: ratio.Same}
		}
	}
	return row
}

func (c *Cell) json() jsonCell {
	cell := jsonCell{Measurements: make(map[string]jsonInterval)}
	for unit, samples := range c.samples {
		if unit == limitSeconds {
			cell.NotFinishedSeconds, _ = c.limit()
			continue
		}
		s, _ := c.summary(unit)
		cell.Measurements[unit] = jsonInterval{Median: s.Center, Low: known(s.Lo), High: known(s.Hi), Samples: samples}
	}
	return cell
}

func known(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
