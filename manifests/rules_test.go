package manifests

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func rulesPod(more string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n" + more
}

func TestWhatAnEngineWouldMisunderstandIsRefused(t *testing.T) {
	port := func(ip string) string {
		return rulesPod("  containers:\n  - {name: c, image: x, ports: [{containerPort: 80, hostPort: 8080, hostIP: '" + ip + "'}]}\n")
	}
	volume := func(path string) string {
		return rulesPod("  containers: [{name: c, image: x}]\n  volumes: [{name: v, hostPath: {path: " + path + "}}]\n")
	}
	for text, want := range map[string]string{
		port("localhost"): "ports[0].hostIP",
		port("300.1.1.1"): "ports[0].hostIP",
		port("0"):         "ports[0].hostIP",
		port("127.0.0.1"): "",
		port("::1"):       "",
		volume("./html"):  "hostPath.path",
		volume("/html"):   "",
	} {
		doc := Decode([]byte(text), Options{})[0]
		switch {
		case want == "" && doc.Err != nil:
			t.Errorf("refused: %v\n%s", doc.Err, text)
		case want != "" && (doc.Err == nil || !strings.Contains(doc.Err.Message, want)):
			t.Errorf("verdict %v, want one that names %s\n%s", doc.Err, want, text)
		}
	}
}

// Upstream computes with exponents digit by digit: these would take hours.
func TestQuantitiesAreBounded(t *testing.T) {
	for _, q := range []string{"1e999999999", "1e99999999", "'1e99999999999999999999'", "'1E-999999999'", "1e31"} {
		began := time.Now()
		text := rulesPod(fmt.Sprintf("  containers: [{name: c, image: x, resources: {limits: {memory: %s}}}]\n", q))
		doc := Decode([]byte(text), Options{})[0]
		if doc.Err == nil || time.Since(began) > time.Second {
			t.Errorf("%s: verdict %v after %v", q, doc.Err, time.Since(began))
		}
	}
	for _, q := range []string{"1e9", "64Mi", "1E", "2", "0.5", "1e3"} {
		text := rulesPod(fmt.Sprintf("  containers: [{name: c, image: x, resources: {limits: {memory: '%s'}}}]\n", q))
		if doc := Decode([]byte(text), Options{})[0]; doc.Err != nil {
			t.Errorf("%s: refused: %v", q, doc.Err)
		}
	}
}
