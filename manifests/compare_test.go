package manifests

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func mustPod(t testing.TB, text string) *v1.Pod {
	t.Helper()
	docs := Decode([]byte(text), Options{})
	if len(docs) != 1 || docs[0].Pod() == nil {
		t.Fatalf("no pod: %v", docs[0].Err)
	}
	return docs[0].Pod()
}

func ptr[T any](v T) *T { return &v }

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*v1.Pod)
		want Change
		why  string // part of the reason
	}{
		{"nothing", func(*v1.Pod) {}, Same, "same"},
		{"uid", func(p *v1.Pod) { p.UID = types.UID("other") }, Same, ""},
		{"generation and status", func(p *v1.Pod) { p.Generation = 7; p.Status.Phase = v1.PodRunning }, Same, ""},
		{"config annotations", func(p *v1.Pod) { p.Annotations["kubernetes.io/config.hash"] = "x" }, Same, ""},
		{"creation time", func(p *v1.Pod) { p.CreationTimestamp = metav1.Unix(5, 0) }, Same, ""},
		{"node name", func(p *v1.Pod) { p.Spec.NodeName = "here" }, Same, ""},
		{"type meta", func(p *v1.Pod) { p.TypeMeta = metav1.TypeMeta{} }, Same, ""},
		{"empty list", func(p *v1.Pod) { p.Spec.HostAliases = []v1.HostAlias{} }, Same, ""},
		{"equal quantity", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("0.5") }, Same, ""},

		{"label", func(p *v1.Pod) { p.Labels["app"] = "x" }, InPlace, "metadata.labels[app]"},
		{"label added", func(p *v1.Pod) { p.Labels["new"] = "x" }, InPlace, "metadata.labels[new]"},
		{"labels removed", func(p *v1.Pod) { p.Labels = nil }, InPlace, "metadata.labels"},
		{"annotation", func(p *v1.Pod) { p.Annotations["a"] = "b" }, InPlace, "metadata.annotations[a]"},
		{"image", func(p *v1.Pod) { p.Spec.Containers[0].Image = "x:2" }, InPlace, "spec.containers[0].image (registry.example.com/web/server:1.0 to x:2)"},
		{"init image", func(p *v1.Pod) { p.Spec.InitContainers[0].Image = "x:2" }, InPlace, "spec.initContainers[0].image"},
		{"toleration added", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: "Exists"}} }, InPlace, "spec.tolerations"},
		{"deadline set", func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr(int64(5)) }, InPlace, "spec.activeDeadlineSeconds"},
		{"restart policy of a container", func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = ptr(v1.ContainerRestartPolicyNever) }, Replace, "spec.containers[0].restartPolicy"},

		{"env", func(p *v1.Pod) { p.Spec.Containers[0].Env[0].Value = "secret" }, Replace, "spec.containers[0].env[0].value changed"},
		{"env and image", func(p *v1.Pod) { p.Spec.Containers[0].Env[0].Value = "x"; p.Spec.Containers[0].Image = "x:2" }, Replace, "spec.containers[0].image"},
		{"resources", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("1") }, Replace, "spec.containers[0].resources.limits[cpu]"},
		{"container added", func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "n", Image: "i"}) }, Replace, "spec.containers"},
		{"init container removed", func(p *v1.Pod) { p.Spec.InitContainers = p.Spec.InitContainers[1:] }, Replace, "spec.initContainers"},
		{"container renamed", func(p *v1.Pod) { p.Spec.Containers[0].Name = "other" }, Replace, "spec.containers[0].name"},
		{"grace", func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr(int64(1)) }, Replace, "spec.terminationGracePeriodSeconds"},
		{"volume", func(p *v1.Pod) { p.Spec.Volumes[1].HostPath.Path = "/x" }, Replace, "spec.volumes[1].hostPath.path"},
		{"volume source", func(p *v1.Pod) {
			p.Spec.Volumes[1].VolumeSource = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
		}, Replace, "spec.volumes[1]"},
		{"host network", func(p *v1.Pod) { p.Spec.HostNetwork = true }, Replace, "spec.hostNetwork"},
		{"pull policy", func(p *v1.Pod) { p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways }, Replace, "spec.containers[0].imagePullPolicy"},
		{"name", func(p *v1.Pod) { p.Name = "other" }, Replace, "shop/web became shop/other"},
		{"much", func(p *v1.Pod) {
			p.Spec.HostNetwork, p.Spec.Hostname, p.Spec.RestartPolicy, p.Spec.SchedulerName, p.Spec.DNSPolicy = true, "h", "Never", "s", "Default"
		}, Replace, " and 2 more changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, edited := mustPod(t, benchPod), mustPod(t, benchPod)
			if old.Annotations == nil {
				edited.Annotations = map[string]string{}
			}
			tc.edit(edited)
			keepOld, keepNew := old.DeepCopy(), edited.DeepCopy()
			got, why := Compare(old, edited)
			if got != tc.want || !strings.Contains(why, tc.why) || strings.Contains(why, "secret") {
				t.Errorf("Compare = %s (%s), want %s (%s)", got, why, tc.want, tc.why)
			}
			if why == "" || strings.HasPrefix(why, " ") {
				t.Errorf("reason is %q", why)
			}
			if !equalJSON(t, old, keepOld) || !equalJSON(t, edited, keepNew) {
				t.Error("Compare changed a pod")
			}
			if same := EffectiveDigest(old) == EffectiveDigest(edited); same != (got == Same) && tc.name != "empty list" && tc.name != "equal quantity" {
				t.Errorf("effective digests equal: %v, but the change is %s", same, got)
			}
		})
	}
}

func equalJSON(t *testing.T, a, b *v1.Pod) bool {
	t.Helper()
	return digestOf(a) == digestOf(b)
}

// TestCompareDeadlines: a deadline may be set and come nearer on a living pod,
// never go away.
func TestCompareDeadlines(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new *int64
		want     Change
	}{
		{"set", nil, ptr(int64(60)), InPlace},
		{"lowered", ptr(int64(60)), ptr(int64(5)), InPlace},
		{"raised", ptr(int64(5)), ptr(int64(60)), Replace},
		{"removed", ptr(int64(5)), nil, Replace},
	} {
		old, edited := mustPod(t, benchPod), mustPod(t, benchPod)
		old.Spec.ActiveDeadlineSeconds, edited.Spec.ActiveDeadlineSeconds = tc.old, tc.new
		if got, why := Compare(old, edited); got != tc.want || !strings.Contains(why, "spec.activeDeadlineSeconds") {
			t.Errorf("%s: %s (%s), want %s", tc.name, got, why, tc.want)
		}
	}
}

// TestCompareRestartRules: no rule can change under a running pod.
func TestCompareRestartRules(t *testing.T) {
	rules := func(code int32) []v1.ContainerRestartRule {
		return []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}}}}
	}
	old, edited := mustPod(t, benchPod), mustPod(t, benchPod)
	for _, p := range []*v1.Pod{old, edited} {
		p.Spec.Containers[0].RestartPolicy, p.Spec.Containers[0].RestartPolicyRules = ptr(v1.ContainerRestartPolicyNever), rules(1)
	}
	if got, why := Compare(old, edited); got != Same {
		t.Errorf("the same rules: %s (%s)", got, why)
	}
	edited.Spec.Containers[0].RestartPolicyRules = rules(2)
	if got, why := Compare(old, edited); got != Replace || !strings.Contains(why, "restartPolicyRules") {
		t.Errorf("another exit code: %s (%s)", got, why)
	}
}

// TestCompareBack: an edit taken back is as much an edit.
func TestCompareBack(t *testing.T) {
	old, edited := mustPod(t, benchPod), mustPod(t, benchPod)
	edited.Spec.Tolerations = []v1.Toleration{{Operator: "Exists"}}
	if c, why := Compare(edited, old); c != Replace || !strings.Contains(why, "spec.tolerations") {
		t.Errorf("toleration taken away: %s (%s)", c, why)
	}
	edited = mustPod(t, benchPod)
	edited.Labels = nil
	if c, why := Compare(edited, old); c != InPlace {
		t.Errorf("labels added: %s (%s)", c, why)
	}
}

func TestEffectiveDigest(t *testing.T) {
	cm := func(text string) string {
		t.Helper()
		d := Decode([]byte(text), Options{})[0]
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		return EffectiveDigest(d.Object)
	}
	a := cm("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, uid: x}, data: {k: v}}")
	b := cm("{kind: ConfigMap, apiVersion: v1, metadata: {namespace: default, name: c, resourceVersion: '5'}, data: {k: v}}")
	c := cm("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: w}}")
	if a != b || a == c || len(a) != 64 {
		t.Errorf("digests %s %s %s", a, b, c)
	}
	if p, q := EffectiveDigest(mustPod(t, smallPod)), EffectiveDigest(mustPod(t, strings.Replace(smallPod, "name: a,", "name: a, imagePullPolicy: IfNotPresent,", 1))); p != q {
		t.Error("a spelled-out default has another digest")
	}
}
