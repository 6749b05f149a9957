// Package volumes prepares the volumes of a pod on the machine and says where
// each stands.
//
// [Prepare] makes what has to be made, per volume of the spec, and returns a
// [Set]: the host path of every volume by name. [Set.Mounts] turns the
// volumeMounts of one container into binds. Nothing here knows an engine.
//
// An emptyDir is a directory <pod dir>/volumes/<name>, mode 0777, that lives as
// long as the instance. A hostPath is checked, and made where its type says so,
// exactly as the kubelet does: its type is looked at again before every
// container start, so a path that appears later heals the pod by itself.
// Other kinds are refused before they get here (manifests' not-yet table).
package volumes
