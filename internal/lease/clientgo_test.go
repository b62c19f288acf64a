package lease_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// theirs runs client-go's own elector for the lease.
func theirs(t *testing.T, name string) (began <-chan struct{}, stop func()) {
	t.Helper()
	started := make(chan struct{}, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  v1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     kubernetesClient(t, &link{}),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "theirs"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 50 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { started <- struct{}{} },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return started, stop
}

// Guards that the Lease is one that client-go's leader election understands:
// each respects the other's, and follows as soon as it is released.
func TestKubernetesSharesLeasesWithClientGo(t *testing.T) {
	t.Parallel()
	h := kubernetesHarness(t)
	name, ours := leaseName(t), h.eager(t)
	first := ours.run(t, name)
	term := first.wait()

	began, stop := theirs(t, name)
	asked := ours.link.asked.Load()
	eventually(t, "ours renews", func() bool { return ours.link.asked.Load() > asked+10 })
	select {
	case <-began:
		t.Fatal("theirs began under our lease")
	default:
	}
	first.stop()
	select {
	case <-began:
	case <-time.After(patience):
		t.Fatal("theirs did not follow")
	}

	second := ours.run(t, name)
	asked = ours.link.asked.Load()
	eventually(t, "ours asks", func() bool { return ours.link.asked.Load() > asked+10 })
	second.none("under their lease")
	stop()
	if next := second.wait(); next.token <= term.token+1 {
		t.Errorf("token %d, after our %d and theirs", next.token, term.token)
	}
}
