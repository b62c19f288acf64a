package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Ports of the instance.
const (
	// ContainerPort is what the runtime listens on.
	ContainerPort = 8080
	// ServicePort is what routes lead to.
	ServicePort = 80
)

// LabelInstance is on the instance's pods, with the gatewayId as its value. It
// is the Deployment's selector, and can therefore never change.
const LabelInstance = "lockstep.io/instance"

// EnsureInstance makes the gateway's Deployment and Service be there as gw
// asks. It does not wait for pods: see [Client.InstanceReady]. config is the
// content of the ConfigMap; pods read it at their start, so a change of it
// makes new pods.
func (c *Client) EnsureInstance(ctx context.Context, owner resource.Owner, gw *resource.ApiGateway, config map[string]string) (waiting string, err error) {
	deployment, err := c.deployment(gw, config)
	if err != nil {
		return "", err
	}
	live, err := c.Observe(ctx, deploymentRef(gw.GatewayID))
	if err != nil {
		return "", err
	}
	if live == nil {
		// Pods that one before it has left would get requests, too.
		if _, err := c.removeStrays(ctx, owner, replicaSets, owned); err != nil {
			return "", err
		}
	}
	applied, err := c.Apply(ctx, owner, deployment)
	if err != nil || applied.Waiting != "" {
		return applied.Waiting, err
	}
	service, err := instanceService(gw.GatewayID)
	if err != nil {
		return "", err
	}
	applied, err = c.Apply(ctx, owner, service)
	return applied.Waiting, err
}

func deploymentRef(gatewayID string) Ref {
	return Ref{Deployment, resource.NamespaceName(gatewayID), resource.InstanceName(gatewayID)}
}

func serviceRef(gatewayID string) Ref {
	return Ref{Service, resource.NamespaceName(gatewayID), resource.InstanceName(gatewayID)}
}

// deployment is the instance's Deployment.
func (c *Client) deployment(gw *resource.ApiGateway, config map[string]string) (*unstructured.Unstructured, error) {
	template, err := c.podTemplate(gw, config)
	if err != nil {
		return nil, err
	}
	replicas := gw.Runtime.Replicas
	if replicas == 0 {
		replicas = c.defaults.RuntimeReplicas
	}
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	deadline, history := int32(600), int32(2)
	return object(deploymentRef(gw.GatewayID), &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelInstance: gw.GatewayID}},
		Template: template,
		// An update never takes a pod away before its successor is ready.
		Strategy: appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one},
		},
		ProgressDeadlineSeconds: &deadline,
		RevisionHistoryLimit:    &history,
	}})
}

func instanceService(gatewayID string) (*unstructured.Unstructured, error) {
	return object(serviceRef(gatewayID), &corev1.Service{Spec: corev1.ServiceSpec{
		Selector: map[string]string{LabelInstance: gatewayID},
		Ports: []corev1.ServicePort{{
			Name: "http", Protocol: corev1.ProtocolTCP, Port: ServicePort, TargetPort: intstr.FromString("http"),
		}},
	}})
}

// object turns a typed object into what Apply takes: only what was set.
func object(ref Ref, typed any) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", ref, err)
	}
	obj := ref.Object()
	prune(content)
	obj.Object["spec"] = content["spec"]
	return obj, nil
}

// prune removes nulls and empty maps, which a typed object has for what was
// not set: applying them would claim those fields. An emptyDir is an empty map
// that means something.
func prune(content map[string]any) {
	for key, value := range content {
		switch value := value.(type) {
		case nil:
			delete(content, key)
		case map[string]any:
			prune(value)
			if len(value) == 0 && key != "emptyDir" {
				delete(content, key)
			}
		case []any:
			for _, element := range value {
				if m, ok := element.(map[string]any); ok {
					prune(m)
				}
			}
		}
	}
}
