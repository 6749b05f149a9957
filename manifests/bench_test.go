package manifests

import (
	"bytes"
	"fmt"
	"testing"
)

const benchPod = `# a pod of usual size
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {app: web, tier: front}
  annotations:
    example.com/owner: team-a
spec:
  restartPolicy: Always
  terminationGracePeriodSeconds: 20
  initContainers:
  - name: page
    image: registry.example.com/tools/busybox:1.36
    command: [sh, -c, "echo hello > /site/index.html"]
    volumeMounts:
    - {name: site, mountPath: /site}
  - name: proxy
    image: registry.example.com/tools/proxy:2.1
    restartPolicy: Always
    ports:
    - {name: admin, containerPort: 9901}
  containers:
  - name: server
    image: registry.example.com/web/server:1.0
    command: [server, --dir, /site, --port, "8080"]
    env:
    - {name: MODE, value: production}
    - {name: ADDR, value: "$(HOST):8080"}
    ports:
    - {name: http, containerPort: 8080, hostPort: 18080}
    resources:
      requests: {cpu: 100m, memory: 64Mi}
      limits: {cpu: 500m, memory: 128Mi}
    volumeMounts:
    - {name: site, mountPath: /site, readOnly: true}
    - {name: logs, mountPath: /var/log/web}
  volumes:
  - name: site
    emptyDir: {}
  - name: logs
    hostPath: {path: /var/log/web, type: DirectoryOrCreate}
`

func BenchmarkDecode(b *testing.B) {
	text := []byte(benchPod)
	b.ReportAllocs()
	for b.Loop() {
		if docs := Decode(text, Options{}); docs[0].Err != nil {
			b.Fatal(docs[0].Err)
		}
	}
}

// BenchmarkDecodeStored reads back what the store keeps.
func BenchmarkDecodeStored(b *testing.B) {
	text := Decode([]byte(benchPod), Options{})[0].Text
	b.ReportAllocs()
	for b.Loop() {
		if docs := Decode(text, Options{Stored: true}); docs[0].Err != nil {
			b.Fatal(docs[0].Err)
		}
	}
}

// BenchmarkDecode10000 reads one file of 10,000 pods.
func BenchmarkDecode10000(b *testing.B) {
	var file bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&file, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {containers: [{name: a, image: b:1}]}\n", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if docs := Decode(file.Bytes(), Options{}); len(docs) != 10_000 {
			b.Fatal(len(docs))
		}
	}
}

func BenchmarkCompareSame(b *testing.B) {
	old, again := Decode([]byte(benchPod), Options{})[0].Pod(), Decode([]byte(benchPod), Options{})[0].Pod()
	b.ReportAllocs()
	for b.Loop() {
		if c, why := Compare(old, again); c != Same {
			b.Fatal(why)
		}
	}
}
