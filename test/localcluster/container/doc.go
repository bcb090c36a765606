// Package container is a container runtime, by the interface that a kubelet asks
// (CRI), whose containers are plain processes of this machine: there are no images
// to unpack, namespaces or limits, and no root is needed.
//
// What a container would see of its own is given to the process by name instead:
//
//   - An image is the name of a program of this machine: see Images.
//   - A pod has a loopback address of its own. An argument or variable that is an
//     address to listen on without a host, ":8443" or "--flag=:8443", gets that
//     address, so that replicas do not collide.
//   - A pod's hostname is its own where the machine lets processes have one: Linux,
//     for root, or with user namespaces for every user.
//   - A volume is the folder in which the kubelet keeps its files. Where an argument
//     or a variable names the path it is mounted at, the folder's replaces it.
//   - The API server and the pod's own account are in the file that the variable
//     KUBECONFIG names: what client libraries look for first, as the usual place of a
//     token cannot be a pod's own.
//
// A process that has more memory resident than the limit of its container is killed, on
// Linux, and its container is OOMKilled. The most that it ever had counts, with the pages
// of its files, which a kernel would rather give back; what it has started and what the
// kernel holds for it, such as the buffers of its connections, do not count. The limit of
// CPU, users, capabilities and read-only root file systems are not enforced.
//
// A container ends with its first process, and all that it has started end
// then. On Linux no first process outlives the one that the runtime is part of: the
// kernel kills it. Elsewhere, and for what others have started, Close has to be called.
package container
