package core

// Server is one model served to one service class, by one or more replicas.
type Server struct {
	Name            string // unique in a System
	Class, Model    string
	KeepAccelerator bool // stay on the accelerator of Current, if it has one
	MinReplicas     int
	MaxBatch        int // requests; 0 takes it from the profile
	Load            Load
	Current         Allocation // current allocation: only Accelerator, Replicas and Cost are read
}

// Load is the load of a server.
type Load struct {
	Unknown                   bool    // the load is unknown: the server gets no allocation
	ArrivalRate               float64 // requests/s
	InputTokens, OutputTokens float64 // mean tokens/request
}

// none reports whether the server has no load.
func (l Load) none() bool { return l.ArrivalRate == 0 || l.OutputTokens == 0 }
