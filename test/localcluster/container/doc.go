// Package container is a container runtime, by the interface that a kubelet asks (CRI), whose
// containers are plain processes of this machine: there are no images to unpack, namespaces or
// limits, and no root is needed.
//
// The process gets by name what a container would have of its own:
//
//   - An image is the name of a program of this machine: see Images.
//   - A pod has a loopback address of its own. An argument or variable that is a listen address
//     without a host, ":8443" or "--flag=:8443", gets that address, so that replicas do not
//     collide.
//   - A pod has a hostname of its own where the machine lets processes have one: Linux, for root,
//     or with user namespaces for every user.
//   - A volume is the folder in which the kubelet keeps its files. The folder replaces the mount
//     path in arguments and variables.
//   - The variable KUBECONFIG names a file with the API server and the pod's own account. Client
//     libraries look there first; the usual folder of a token cannot be a pod's own.
//
// On Linux a process with more resident memory than the limit of its container is killed, and its
// container is OOMKilled. The peak counts, with the pages of its files, which a kernel would rather
// reclaim; processes that it started and memory that the kernel holds for it, such as the buffers
// of its connections, do not count. CPU limits, users, capabilities and read-only root file systems
// are not enforced.
//
// A container ends with its first process, and all processes that it started end then. On Linux no
// first process outlives the process of the runtime: the kernel kills it. Elsewhere, and for the
// processes that others started, Close has to be called.
package container
