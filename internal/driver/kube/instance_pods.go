package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	model "github.com/lockstep-io/lockstep/internal/resource"
)

// Annotations of the pod template. Whatever changes them makes new pods.
const (
	AnnotationRevision = "lockstep.io/revision"
	AnnotationConfig   = "lockstep.io/config-hash"
)

// runtimeUser is the user that pods run as. Images that name another user by
// number still run as this one, those that would run as root do not.
const runtimeUser = 65532

// podTemplate is the template of the instance's pods.
func (c *Client) podTemplate(gw *model.ApiGateway, config map[string]string) (corev1.PodTemplateSpec, error) {
	container, err := c.container(gw)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	yes, no, user := true, false, int64(runtimeUser)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{
				LabelInstance:      gw.GatewayID,
				model.LabelGateway: gw.GatewayID,
			},
			Annotations: map[string]string{
				AnnotationRevision: strconv.FormatInt(gw.Revision, 10),
				AnnotationConfig:   configHash(config),
			},
		},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{container},
			Volumes:                      []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			AutomountServiceAccountToken: &no,
			EnableServiceLinks:           &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   &yes,
				RunAsUser:      &user,
				RunAsGroup:     &user,
				FSGroup:        &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}, nil
}

func (c *Client) container(gw *model.ApiGateway) (corev1.Container, error) {
	requests, limits, err := resources(gw.Runtime)
	if err != nil {
		return corev1.Container{}, err
	}
	image := gw.Runtime.Image
	if image == "" {
		image = c.defaults.RuntimeImage
	}
	yes, no := true, false
	return corev1.Container{
		Name:      "runtime",
		Image:     image,
		Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: ContainerPort, Protocol: corev1.ProtocolTCP}},
		EnvFrom:   envSources(gw.GatewayID),
		Env:       env(gw.Runtime.Env),
		Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}},
			PeriodSeconds:    2,
			FailureThreshold: 3,
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}, nil
}

// envSources are the gateway's settings and its database's credentials.
func envSources(gatewayID string) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: model.ConfigMapName(gatewayID)}}},
		{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: model.DatabaseSecretName(gatewayID)}}},
	}
}

// env is sorted: the order of a map must not make new pods.
func env(values map[string]string) []corev1.EnvVar {
	vars := make([]corev1.EnvVar, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		vars = append(vars, corev1.EnvVar{Name: name, Value: values[name]})
	}
	return vars
}

// resources are the pods' requests. Memory is limited to what was requested,
// as it cannot be taken back; CPU can, and is not.
func resources(runtime model.Runtime) (requests, limits corev1.ResourceList, err error) {
	requests, limits = corev1.ResourceList{}, corev1.ResourceList{}
	if runtime.CPU != "" {
		if requests[corev1.ResourceCPU], err = quantity("cpu", runtime.CPU); err != nil {
			return nil, nil, err
		}
	}
	if runtime.Memory != "" {
		if requests[corev1.ResourceMemory], err = quantity("memory", runtime.Memory); err != nil {
			return nil, nil, err
		}
		limits[corev1.ResourceMemory] = requests[corev1.ResourceMemory]
	}
	return requests, limits, nil
}

func quantity(field, value string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil {
		return q, &refusedError{fmt.Errorf("runtime.%s is %q: use a Kubernetes quantity such as 250m or 512Mi", field, value)}
	}
	return q, nil
}

// configHash stands for the ConfigMap's content in the pod template.
func configHash(config map[string]string) string {
	data, _ := json.Marshal(config) // a map of strings always marshals, its keys sorted
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
