package manifests

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// This file says what islet makes of every field of a pod. A field is
//
//	honoured   it does what Kubernetes says
//	harmless   it is about things one machine without an API server does not
//	           have, and leaving it out of account changes nothing that runs
//	inside     its own fields are listed below
//	later      not honoured yet: a document that sets it is refused
//	never      has no meaning here: refused
//	needsAPI   names an object that only an API server has: refused
//
// A field is refused only when it asks for something: one that spells out what
// happens anyway is fine. A test holds the table against the types, so a field
// that Kubernetes adds has to be put here before islet builds with it.

var (
	honoured = support{}
	harmless = support{}
	inside   = support{inside: true}
)

func later(matters condition, hint string) support {
	return support{reason: ReasonNotYet, what: "not honoured by this version of islet", matters: matters, hint: hint}
}

func never(matters condition, hint string) support {
	return support{reason: ReasonNotSupported, what: "not possible here", matters: matters, hint: hint}
}

func needsAPI(matters condition, hint string) support {
	return support{reason: ReasonNeedsAPIServer, what: "needs an API server, and islet runs without one", matters: matters, hint: hint}
}

const (
	remove      = "remove it"
	useHostPath = "use a hostPath volume"
)

var supportTable = map[reflect.Type]map[string]support{
	reflect.TypeFor[v1.PodSpec]():               podSpecSupport,
	reflect.TypeFor[v1.PodSecurityContext]():    podSecuritySupport,
	reflect.TypeFor[v1.Container]():             containerSupport,
	reflect.TypeFor[v1.ContainerPort]():         portSupport,
	reflect.TypeFor[v1.EnvVar]():                envSupport,
	reflect.TypeFor[v1.ResourceRequirements]():  resourceSupport,
	reflect.TypeFor[v1.VolumeMount]():           mountSupport,
	reflect.TypeFor[v1.SecurityContext]():       securitySupport,
	reflect.TypeFor[v1.Volume]():                volumeSupport,
	reflect.TypeFor[v1.EmptyDirVolumeSource]():  emptyDirSupport,
	reflect.TypeFor[v1.HostPathVolumeSource]():  hostPathSupport,
	reflect.TypeFor[v1.ProjectedVolumeSource](): projectedSupport,
	reflect.TypeFor[v1.VolumeProjection]():      projectionSupport,
	reflect.TypeFor[v1.PodOS]():                 osSupport,
}

var podSpecSupport = map[string]support{
	"volumes":                       inside,
	"initContainers":                inside,
	"containers":                    inside,
	"securityContext":               inside,
	"os":                            inside,
	"restartPolicy":                 honoured,
	"terminationGracePeriodSeconds": honoured,
	"activeDeadlineSeconds":         honoured,
	"hostNetwork":                   honoured,
	"hostname":                      honoured,
	"dnsPolicy":                     later(isOneOf("None"), "use Default or ClusterFirst"),

	"nodeName":                     harmless, // dropped with a warning
	"schedulerName":                harmless,
	"tolerations":                  harmless,
	"priority":                     harmless,
	"priorityClassName":            harmless,
	"preemptionPolicy":             harmless,
	"automountServiceAccountToken": harmless, // there is no account to mount
	"enableServiceLinks":           harmless, // there are no services
	"ephemeralContainers":          harmless, // validation refuses them

	"affinity":                  later(isSet, "remove it, there is one machine"),
	"dnsConfig":                 later(isSet, remove),
	"hostAliases":               later(isSet, remove),
	"hostIPC":                   later(isTrue, remove),
	"hostPID":                   later(isTrue, remove),
	"hostUsers":                 later(isFalse, remove),
	"hostnameOverride":          later(isSet, "use hostname"),
	"imagePullSecrets":          later(isSet, "pull the image onto the machine beforehand"),
	"nodeSelector":              later(isSet, "remove it, there is one machine"),
	"overhead":                  later(isSet, remove),
	"readinessGates":            later(isSet, remove),
	"resources":                 later(isSet, "set resources on the containers"),
	"runtimeClassName":          later(isSet, remove),
	"setHostnameAsFQDN":         later(isTrue, remove),
	"shareProcessNamespace":     later(isTrue, remove),
	"subdomain":                 later(isSet, remove),
	"topologySpreadConstraints": later(isSet, "remove it, there is one machine"),

	"serviceAccountName": needsAPI(isSet, remove),
	"serviceAccount":     needsAPI(nil, remove), // mirrors serviceAccountName
	"schedulingGates":    needsAPI(isSet, remove),
	"schedulingGroup":    needsAPI(isSet, remove),
	"evictionResponders": needsAPI(isSet, remove),
	"resourceClaims":     needsAPI(isSet, remove),
}

var podSecuritySupport = map[string]support{
	"supplementalGroupsPolicy": later(isSet, remove),
	"appArmorProfile":          later(isSet, remove),
	"fsGroup":                  later(isSet, remove),
	"fsGroupChangePolicy":      later(isSet, remove),
	"runAsGroup":               later(isSet, remove),
	"runAsNonRoot":             later(isTrue, remove),
	"runAsUser":                later(isSet, remove),
	"seLinuxChangePolicy":      later(isSet, remove),
	"seLinuxOptions":           later(isSet, remove),
	"seccompProfile":           later(isSet, "remove it, the engine's own profile applies then"),
	"supplementalGroups":       later(isSet, remove),
	"sysctls":                  later(isSet, remove),
	"windowsOptions":           never(isSet, "remove it, this is Linux"),
}

var containerSupport = map[string]support{
	"ports":                    inside,
	"env":                      inside,
	"resources":                inside,
	"volumeMounts":             inside,
	"securityContext":          inside,
	"name":                     honoured,
	"image":                    honoured,
	"imagePullPolicy":          honoured,
	"command":                  honoured,
	"args":                     honoured,
	"workingDir":               honoured,
	"terminationMessagePath":   honoured,
	"terminationMessagePolicy": honoured,
	"restartPolicy":            honoured,
	"restartPolicyRules":       honoured,
	"resizePolicy":             harmless, // a resource edit replaces the pod

	"envFrom":        later(isSet, "write the variables into env"),
	"lifecycle":      later(isSet, remove),
	"livenessProbe":  later(isSet, remove),
	"readinessProbe": later(isSet, remove),
	"startupProbe":   later(isSet, remove),
	"stdin":          later(isTrue, remove),
	"stdinOnce":      later(isTrue, remove),
	"tty":            later(isTrue, remove),
	"volumeDevices":  later(isSet, remove),
}

var securitySupport = map[string]support{
	"allowPrivilegeEscalation": later(isFalse, remove),
	"appArmorProfile":          later(isSet, remove),
	"capabilities":             later(isSet, remove),
	"privileged":               later(isTrue, remove),
	"procMount":                later(isOneOf("Unmasked"), remove),
	"readOnlyRootFilesystem":   later(isTrue, remove),
	"runAsGroup":               later(isSet, remove),
	"runAsNonRoot":             later(isTrue, remove),
	"runAsUser":                later(isSet, remove),
	"seLinuxOptions":           later(isSet, remove),
	"seccompProfile":           later(isSet, "remove it, the engine's own profile applies then"),
	"windowsOptions":           never(isSet, "remove it, this is Linux"),
}

var portSupport = map[string]support{
	"name":          honoured,
	"containerPort": honoured,
	"hostPort":      honoured,
	"hostIP":        honoured,
	"protocol":      later(isOneOf("SCTP"), "use TCP or UDP"),
}

var envSupport = map[string]support{
	"name":      honoured,
	"value":     honoured,
	"valueFrom": later(isSet, "write the value out"),
}

var resourceSupport = map[string]support{
	"limits":   later(isOtherResource, "only cpu and memory are"),
	"requests": honoured, // of others than cpu and memory they go with a limit
	"claims":   needsAPI(isSet, remove),
}

var mountSupport = map[string]support{
	"name":              honoured,
	"mountPath":         honoured,
	"readOnly":          honoured,
	"bindMountOptions":  later(isSet, remove),
	"mountPropagation":  later(isOneOf("Bidirectional", "HostToContainer"), remove),
	"recursiveReadOnly": later(isOneOf("Enabled", "IfPossible"), "use readOnly"),
	"subPath":           later(isSet, "mount the whole volume"),
	"subPathExpr":       later(isSet, "mount the whole volume"),
}

var emptyDirSupport = map[string]support{
	"medium":    later(isSet, "remove it, the volume lies on disk then"),
	"mode":      later(isSet, remove),
	"sizeLimit": later(isSet, remove),
}

var hostPathSupport = map[string]support{
	"path": honoured,
	"type": honoured,
}

var projectedSupport = map[string]support{
	"defaultMode": harmless, // the volume as a whole is refused
	"defaultUser": harmless,
	"sources":     inside,
}

var projectionSupport = map[string]support{
	"configMap":           harmless, // the volume as a whole is refused
	"downwardAPI":         harmless,
	"secret":              harmless,
	"clusterTrustBundle":  needsAPI(isSet, remove),
	"podCertificate":      needsAPI(isSet, remove),
	"serviceAccountToken": needsAPI(isSet, remove),
}

var osSupport = map[string]support{
	"name": never(isOneOf("windows"), "this is Linux"),
}

var volumeSupport = map[string]support{
	"name":     honoured,
	"emptyDir": inside,
	"hostPath": inside,

	"configMap":             later(isSet, useHostPath),
	"downwardAPI":           later(isSet, remove),
	"image":                 later(isSet, useHostPath),
	"nfs":                   later(isSet, "mount it on the machine and use a hostPath volume"),
	"persistentVolumeClaim": later(isSet, useHostPath),
	"projected":             {reason: ReasonNotYet, what: "not honoured by this version of islet", matters: isSet, hint: useHostPath, inside: true},
	"secret":                later(isSet, useHostPath),

	"csi":       needsAPI(isSet, useHostPath),
	"ephemeral": needsAPI(isSet, "use emptyDir"),
	"glusterfs": needsAPI(isSet, useHostPath),

	"awsElasticBlockStore": never(isSet, useHostPath),
	"azureDisk":            never(isSet, useHostPath),
	"azureFile":            never(isSet, useHostPath),
	"cephfs":               never(isSet, useHostPath),
	"cinder":               never(isSet, useHostPath),
	"fc":                   never(isSet, useHostPath),
	"flexVolume":           never(isSet, useHostPath),
	"flocker":              never(isSet, useHostPath),
	"gcePersistentDisk":    never(isSet, useHostPath),
	"gitRepo":              never(isSet, "clone in an init container into an emptyDir volume"),
	"iscsi":                never(isSet, useHostPath),
	"photonPersistentDisk": never(isSet, useHostPath),
	"portworxVolume":       never(isSet, useHostPath),
	"quobyte":              never(isSet, useHostPath),
	"rbd":                  never(isSet, useHostPath),
	"scaleIO":              never(isSet, useHostPath),
	"storageos":            never(isSet, useHostPath),
	"vsphereVolume":        never(isSet, useHostPath),
}
