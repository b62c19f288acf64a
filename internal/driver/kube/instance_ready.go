package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// InstanceReady reports what the instance waits for, and "" when pods of
// exactly what gw and config ask for are available, no others are left, and
// the Service is there.
//
// The watch's copy may say that it is not ready yet; that it is ready is
// believed only of the API server's present answer.
func (c *Client) InstanceReady(ctx context.Context, gw *resource.ApiGateway, config map[string]string) (waiting string, err error) {
	wanted, err := c.deployment(gw, config)
	if err != nil {
		return "", err
	}
	ref := deploymentRef(gw.GatewayID)
	for _, look := range []func(context.Context, Ref) (*unstructured.Unstructured, error){c.Observe, c.Get} {
		live, err := look(ctx, ref)
		if err != nil {
			return "", err
		}
		waiting, err := deploymentWaits(wanted, live)
		if err != nil {
			return "", err
		}
		if waiting != "" {
			return c.withPodTrouble(ctx, gw.GatewayID, waiting), nil
		}
	}
	service, err := c.Get(ctx, serviceRef(gw.GatewayID))
	if err != nil {
		return "", err
	}
	if service == nil || terminating(service) {
		return "service: not there", nil
	}
	return "", nil
}

// deploymentWaits says what keeps a Deployment from being available as wanted.
func deploymentWaits(wanted, live *unstructured.Unstructured) (string, error) {
	if live == nil {
		return "deployment: not there", nil
	}
	if terminating(live) {
		return "deployment: terminating", nil
	}
	if differs(wanted, live) != "" {
		return "deployment: what is wanted has not been applied", nil
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &deployment); err != nil {
		return "", fmt.Errorf("reading the status of deployment %s: %w", live.GetName(), err)
	}
	return rolloutWaits(&deployment), nil
}

// rolloutWaits judges the rollout of the Deployment's present generation. The
// status is of no use until the controller has observed that generation:
// until then it tells of the ReplicaSet before.
func rolloutWaits(d *appsv1.Deployment) string {
	status, replicas := d.Status, int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	switch {
	case status.ObservedGeneration < d.Generation:
		return "deployment: not yet observed by its controller"
	case stalled(d) != "":
		return "deployment: " + stalled(d)
	case status.UpdatedReplicas < replicas:
		return fmt.Sprintf("deployment: %d of %d new pods created", status.UpdatedReplicas, replicas)
	case status.Replicas > status.UpdatedReplicas:
		return fmt.Sprintf("deployment: %s left", count(status.Replicas-status.UpdatedReplicas, "old pod"))
	case status.AvailableReplicas < replicas:
		return fmt.Sprintf("deployment: %d of %d pods ready", status.AvailableReplicas, replicas)
	case status.UnavailableReplicas > 0 || status.UpdatedReplicas != replicas || status.AvailableReplicas != replicas:
		return fmt.Sprintf("deployment: %d pods for %d wanted, %d unavailable",
			status.Replicas, replicas, status.UnavailableReplicas)
	}
	return ""
}

// stalled says that the controller has given up on the rollout, or cannot make
// pods, and why.
func stalled(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		failed := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if failed {
			return fmt.Sprintf("%d of %d pods ready: %s: %s", d.Status.AvailableReplicas, d.Status.Replicas, c.Reason, c.Message)
		}
	}
	return ""
}

func count(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
