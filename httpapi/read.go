package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func getPods(pods func() *v1.PodList) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if pods == nil {
			notImplemented(w, "the list of pods")
			return
		}
		list := v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		if have := pods(); have != nil {
			list.ListMeta, list.Items = have.ListMeta, have.Items
		}
		if list.Items == nil {
			list.Items = []v1.Pod{} // [] and not null: clients range over it
		}
		writeJSON(w, http.StatusOK, list)
	}
}

func getManifests(manifests func() []Manifest) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if manifests == nil {
			notImplemented(w, "the list of manifests")
			return
		}
		list := ManifestList{Items: manifests()}
		if list.Items == nil {
			list.Items = []Manifest{}
		}
		writeJSON(w, http.StatusOK, list)
	}
}

func getWhy(why func(namespace, name string) (Why, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if why == nil {
			notImplemented(w, "the story of a pod")
			return
		}
		namespace, name, err := podParams(r)
		if err != nil {
			writeError(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		story, ok := why(namespace, name)
		if !ok {
			writeStatus(w, metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
				Message: fmt.Sprintf("no pod %s/%s", namespace, name),
				Details: &metav1.StatusDetails{Kind: "pods", Name: name},
			})
			return
		}
		if story.Events == nil {
			story.Events = []Event{}
		}
		writeJSON(w, http.StatusOK, story)
	}
}

func getVersion(version map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if version == nil {
			notImplemented(w, "the version")
			return
		}
		writeJSON(w, http.StatusOK, version)
	}
}

// podParams returns the namespace and name of the path. What can be no name of
// a pod is an error here, so that the functions behind never see it.
func podParams(r *http.Request) (namespace, name string, err error) {
	if namespace, err = pathParam(r, "namespace"); err != nil {
		return "", "", err
	}
	if name, err = pathParam(r, "name"); err != nil {
		return "", "", err
	}
	if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
		return "", "", fmt.Errorf("namespace %q: %s", namespace, strings.Join(faults, "; "))
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return "", "", fmt.Errorf("name %q: %s", name, strings.Join(faults, "; "))
	}
	return namespace, name, nil
}

// pathParam returns a decoded part of the path: chi routes on the escaped path
// when there is one and hands the part out as it was sent.
func pathParam(r *http.Request, key string) (string, error) {
	raw := chi.URLParam(r, key)
	if r.URL.RawPath == "" {
		return raw, nil
	}
	value, err := url.PathUnescape(raw)
	if err != nil {
		return "", fmt.Errorf("read %s from path: %w", key, err)
	}
	return value, nil
}
