package config

// Recording says where cycles are recorded for a replay.
type Recording struct {
	// File is the file that they are written to, "" for none. File.1 holds the earlier cycles.
	File string
	// MaxBytes bounds each of the two, 1 MiB to 1 TiB.
	MaxBytes int
}

// The range of the bound: below it, one cycle of a hundred variants does not fit; above it, it is a
// mistake.
const leastRecord, mostRecord = 1 << 20, 1 << 40

func (r *Recording) define(d *definition) {
	d.text(&r.File, "record-file", "", "file to record cycles in, for wva replay; empty for none")
	d.count(&r.MaxBytes, "record-max-bytes", 256<<20, "size at which the file becomes FILE.1, in place of the one before, and begins anew, 1 MiB to 1 TiB")
}

func (r *Recording) validate() error {
	return between("RECORD_MAX_BYTES", r.MaxBytes, leastRecord, mostRecord)
}
