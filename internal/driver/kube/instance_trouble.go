package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// harmless are the reasons of a container that waits in the normal course.
var harmless = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// withPodTrouble adds to what a Deployment waits for the first thing that is
// wrong with one of its pods: an image that cannot be pulled, a container that
// crashes, no node that has room. It is for people, and never fails: what it
// cannot find out it leaves out.
func (c *Client) withPodTrouble(ctx context.Context, gatewayID, waiting string) string {
	list, err := c.instancePods(ctx, gatewayID, 20)
	if err != nil {
		return waiting
	}
	for i := range list {
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &pod) != nil {
			continue
		}
		if trouble := podTrouble(&pod); trouble != "" {
			return fmt.Sprintf("%s (pod %s: %s)", waiting, pod.Name, trouble)
		}
	}
	return waiting
}

func podTrouble(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	for _, status := range pod.Status.ContainerStatuses {
		if w := status.State.Waiting; w != nil && !harmless[w.Reason] {
			return reason(w.Reason, w.Message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return reason(condition.Reason, condition.Message)
		}
	}
	return ""
}

func reason(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

// instancePods lists the gateway's pods from the API server.
func (c *Client) instancePods(ctx context.Context, gatewayID string, limit int64) ([]unstructured.Unstructured, error) {
	return c.listInstance(ctx, pods, gatewayID, limit)
}

func (c *Client) listInstance(ctx context.Context, t Type, gatewayID string, limit int64) ([]unstructured.Unstructured, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	list, err := c.resource(Ref{Type: t, Namespace: resource.NamespaceName(gatewayID)}).List(ctx, v1.ListOptions{
		LabelSelector: LabelInstance + "=" + gatewayID, Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the %s of gateway %s: %w", t.Resource, gatewayID, err)
	}
	return list.Items, nil
}
