package podkey

import (
	"encoding/binary"
	"maps"
	"slices"
)

// writer makes an unambiguous text: each value is preceded by its length.
type writer struct{ bytes []byte }

func (w *writer) number(value int64) { w.bytes = binary.AppendVarint(w.bytes, value) }

func (w *writer) flag(value bool) {
	if value {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *writer) text(value string) {
	w.number(int64(len(value)))
	w.bytes = append(w.bytes, value...)
}

// pairs writes a map in the order of its keys.
func (w *writer) pairs(values map[string]string) {
	w.number(int64(len(values)))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.text(key)
		w.text(values[key])
	}
}

// bag writes values whose order does not matter, but whose number does.
func (w *writer) bag(values []string) {
	slices.Sort(values)
	w.number(int64(len(values)))
	for _, value := range values {
		w.text(value)
	}
}

// set writes values whose order and number do not matter.
func (w *writer) set(values []string) {
	slices.Sort(values)
	w.bag(slices.Compact(values))
}

// each writes every value into a text of its own.
func each[T any](values []T, write func(*writer, *T)) []string {
	texts := make([]string, len(values))
	for i := range values {
		var w writer
		write(&w, &values[i])
		texts[i] = string(w.bytes)
	}
	return texts
}
