// Package apitest gives a test a real API server with the CRD installed: the local cluster, for as
// long as the test runs and in a folder of its own. For the whole autoscaler see test/e2e.
package apitest
