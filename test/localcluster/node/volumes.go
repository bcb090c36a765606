package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
)

// volumePlugins returns the kinds of volumes that need nothing but files.
func volumePlugins() []volume.VolumePlugin {
	var plugins []volume.VolumePlugin
	for _, of := range [][]volume.VolumePlugin{
		emptydir.ProbeVolumePlugins(), configmap.ProbeVolumePlugins(), secret.ProbeVolumePlugins(), downwardapi.ProbeVolumePlugins(),
		projected.ProbeVolumePlugins(), hostpath.ProbeVolumePlugins(volume.VolumeConfig{}),
	} {
		for _, p := range of {
			plugins = append(plugins, ownerless{p})
		}
	}
	return plugins
}

// ownerless is a kind of volume whose files belong to the user who runs this process, as pods'
// processes do: only root can give files to other users.
type ownerless struct{ volume.VolumePlugin }

// NewMounter returns a Mounter that makes a volume for a pod.
func (o ownerless) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	m, err := o.VolumePlugin.NewMounter(spec, pod)
	if err != nil {
		return nil, err
	}
	return ownerlessMounter{m}, nil
}

type ownerlessMounter struct{ volume.Mounter }

// SetUp makes the files of the volume.
func (m ownerlessMounter) SetUp(args volume.MounterArgs) error {
	args.FsUser, args.FsGroup = nil, nil
	return m.Mounter.SetUp(args)
}

// SetUpAt makes the files of the volume in a folder.
func (m ownerlessMounter) SetUpAt(dir string, args volume.MounterArgs) error {
	args.FsUser, args.FsGroup = nil, nil
	return m.Mounter.SetUpAt(dir, args)
}
