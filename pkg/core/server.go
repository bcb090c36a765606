package core

// Server is one model served to one class, by as many replicas as it takes.
type Server struct {
	Name            string // unique in a System
	Class, Model    string
	KeepAccelerator bool // stay on the accelerator of Current, if it has one
	MinReplicas     int
	MaxBatch        int // requests; 0 takes it from the profile
	Load            Load
	Current         Allocation // what runs now: Accelerator, Replicas and Cost are read
}

// Load is what a server is asked to do.
type Load struct {
	Unknown                   bool    // the load is unknown: the server gets no allocation
	ArrivalRate               float64 // requests/s
	InputTokens, OutputTokens float64 // mean tokens/request
}

// none reports whether there is nothing to do.
func (l Load) none() bool { return l.ArrivalRate == 0 || l.OutputTokens == 0 }
