package volumes

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func podWith(vs ...v1.Volume) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Volumes: vs}} }

func podDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "volumes"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEmptyDirIsWorldWritableAndKeepsItsContents(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := podDir(t)
	pod := podWith(v1.Volume{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	set, err := Prepare(pod, dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(set["e"])
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Fatalf("mode %v, err %v; want 0777", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(set["e"], "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(pod, dir); err != nil {
		t.Fatalf("second Prepare: %v", err)
	}
	if _, err := os.Stat(filepath.Join(set["e"], "f")); err != nil {
		t.Fatalf("contents lost by the second Prepare: %v", err)
	}
}

func TestHostPathTypes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tc := range []struct {
		name, path string
		kind       *v1.HostPathType
		wantErr    string
	}{
		{"unset, there", dir, nil, ""},
		{"unset, missing", dir + "/none", ptr.To(v1.HostPathUnset), "does not exist"},
		{"Directory", dir, ptr.To(v1.HostPathDirectory), ""},
		{"Directory on a file", file, ptr.To(v1.HostPathDirectory), "is not a directory"},
		{"Directory, missing", dir + "/none", ptr.To(v1.HostPathDirectory), "does not exist"},
		{"DirectoryOrCreate", dir + "/a/b/c", ptr.To(v1.HostPathDirectoryOrCreate), ""},
		{"DirectoryOrCreate on a file", file, ptr.To(v1.HostPathDirectoryOrCreate), "not a directory"},
		{"File", file, ptr.To(v1.HostPathFile), ""},
		{"File on a directory", dir, ptr.To(v1.HostPathFile), "is not a regular file"},
		{"FileOrCreate", dir + "/new", ptr.To(v1.HostPathFileOrCreate), ""},
		{"FileOrCreate, no parent", dir + "/x/new", ptr.To(v1.HostPathFileOrCreate), "make hostPath file"},
		{"Socket", sock, ptr.To(v1.HostPathSocket), ""},
		{"Socket on a file", file, ptr.To(v1.HostPathSocket), "is not a socket"},
		{"CharDevice", "/dev/null", ptr.To(v1.HostPathCharDev), ""},
		{"BlockDevice on a char device", "/dev/null", ptr.To(v1.HostPathBlockDev), "is not a block device"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := podWith(v1.Volume{Name: "h", VolumeSource: v1.VolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: tc.path, Type: tc.kind}}})
			set, err := Prepare(pod, podDir(t))
			switch {
			case tc.wantErr == "" && err != nil:
				t.Fatal(err)
			case tc.wantErr == "" && set["h"] != tc.path:
				t.Fatalf("path %q, want %q", set["h"], tc.path)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Fatalf("error %v, want one with %q", err, tc.wantErr)
			case tc.wantErr != "" && !strings.Contains(err.Error(), `volume "h"`):
				t.Fatalf("error %v does not name the volume", err)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	set := Set{"v": "/host/v"}
	got, err := set.Mounts(&v1.Container{VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "data", ReadOnly: true}}})
	if err != nil || len(got) != 1 || got[0].ContainerPath != "/data" || !got[0].ReadOnly || got[0].HostPath != "/host/v" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := set.Mounts(&v1.Container{VolumeMounts: []v1.VolumeMount{{Name: "w", MountPath: "/w"}}}); err == nil {
		t.Fatal("a mount of an unknown volume was accepted")
	}
}
