package kube

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Guards (spec 1, fault 6): the decision itself, in every stage of a rollout,
// also those that pass too fast on a test cluster to be met there.
func TestRolloutWaits(t *testing.T) {
	t.Parallel()
	type s = appsv1.DeploymentStatus
	ready := s{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	with := func(change func(*s)) s { status := ready; change(&status); return status }
	for want, status := range map[string]s{
		"": ready,
		"deployment: not yet observed by its controller": with(func(s *s) { s.ObservedGeneration = 2 }),
		"deployment: 1 of 2 new pods created":            with(func(s *s) { s.UpdatedReplicas = 1 }),
		"deployment: 1 old pod left":                     with(func(s *s) { s.Replicas = 3; s.AvailableReplicas = 3 }),
		"deployment: 1 of 2 pods ready":                  with(func(s *s) { s.AvailableReplicas = 1; s.UnavailableReplicas = 1 }),
		"deployment: 2 pods for 2 wanted, 1 unavailable": with(func(s *s) { s.UnavailableReplicas = 1 }),
		"deployment: 0 of 2 pods ready: ProgressDeadlineExceeded: timed out": with(func(s *s) {
			s.AvailableReplicas = 0
			s.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing,
				Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out"}}
		}),
		"deployment: 0 of 0 pods ready: FailedCreate: quota": with(func(s *s) {
			*s = appsv1.DeploymentStatus{ObservedGeneration: 3, Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "quota"}}}
		}),
	} {
		replicas := int32(2)
		d := &appsv1.Deployment{ObjectMeta: v1.ObjectMeta{Generation: 3},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: status}
		if got := rolloutWaits(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Guards: the usual reasons for which a pod does not start reach the person
// who waits for it; the ordinary course of starting does not.
func TestPodTrouble(t *testing.T) {
	t.Parallel()
	waits := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for want, status := range map[string]corev1.PodStatus{
		"":                                waits("ContainerCreating", ""),
		"ImagePullBackOff: no such image": waits("ImagePullBackOff", "no such image"),
		"CrashLoopBackOff":                waits("CrashLoopBackOff", ""),
		"Unschedulable: no room": {Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}},
	} {
		if got := podTrouble(&corev1.Pod{Status: status}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
