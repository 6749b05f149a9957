package volumes

import (
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// Set is where the volumes of one pod stand, by volume name.
type Set map[string]string

// Prepare makes the volumes of pod below podDir and checks those that exist
// elsewhere. It is idempotent: what an earlier call made is kept with its
// contents. The error names the volume.
func Prepare(pod *v1.Pod, podDir string) (Set, error) {
	set := make(Set, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		path, err := prepare(v, podDir)
		if err != nil {
			return nil, fmt.Errorf("set up volume %q: %w", v.Name, err)
		}
		set[v.Name] = path
	}
	return set, nil
}

func prepare(v *v1.Volume, podDir string) (string, error) {
	switch {
	case v.HostPath != nil:
		return v.HostPath.Path, checkHostPath(v.HostPath)
	case v.EmptyDir != nil:
		return makeEmptyDir(filepath.Join(podDir, "volumes", v.Name))
	}
	return "", fmt.Errorf("its type is not supported here")
}

// makeEmptyDir makes the directory world-writable whatever the umask, as the
// kubelet does: containers of the pod may run under any user.
func makeEmptyDir(path string) (string, error) {
	err := os.Mkdir(path, 0o777)
	switch {
	case err == nil:
		return path, os.Chmod(path, 0o777)
	case os.IsExist(err):
		return path, nil
	}
	return "", err
}

// Mounts returns the binds of one container, in the order of its volumeMounts.
// A relative mountPath is taken from "/".
func (s Set) Mounts(c *v1.Container) ([]pods.Mount, error) {
	mounts := make([]pods.Mount, 0, len(c.VolumeMounts))
	for _, m := range c.VolumeMounts {
		host, ok := s[m.Name]
		if !ok {
			return nil, fmt.Errorf("mount volume %q at %s: the pod has no such volume", m.Name, m.MountPath)
		}
		mounts = append(mounts, pods.Mount{
			HostPath:      host,
			ContainerPath: filepath.Join("/", m.MountPath),
			ReadOnly:      m.ReadOnly,
		})
	}
	return mounts, nil
}
