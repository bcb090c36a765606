// Package cluster starts, watches and ends the processes of a local control plane, and keeps what
// is known of them in one folder. It uses the standard library only: it talks to the API server as
// any client does, and depends on nothing that runs inside the processes.
//
// The folder D holds:
//
//	cluster.json         what runs and where; see State
//	kubeconfig           the administrator's
//	bin/kubectl          a link to the binary
//	pki/                 certificates, keys and tokens
//	log/NAME.log         output of each process
//	data/                etcd and Prometheus data, configuration of the parts
//	data/audit.log       what service accounts wrote; see State.AuditLog
//	prometheus/scrape.d  scrape configuration files, read on POST /-/reload
//	lock                 held while a command changes any of this
//
// A process is identified by its id and its start time, so that a later process with the same id is
// not taken for it.
package cluster
