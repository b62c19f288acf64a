package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type kubernetesStore struct {
	client    coordination.LeasesGetter
	namespace string
}

// Kubernetes keeps leases as Lease objects of a namespace (which must exist),
// one for each name, in the format of client-go's leader election. Names are
// Kubernetes names. Of Leases it needs the rights get, create and update.
func Kubernetes(client coordination.LeasesGetter, namespace string) Store {
	return kubernetesStore{client, namespace}
}

// Lock implements [Store].
func (s kubernetesStore) Lock(name string, c Campaign) Lock {
	return &kubernetesLock{campaign: c, lock: &resourcelock.LeaseLock{
		LeaseMeta:  v1.ObjectMeta{Namespace: s.namespace, Name: name},
		Client:     s.client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
	}}
}

type kubernetesLock struct {
	campaign Campaign
	// lock remembers the object that it got or wrote last, and updates that,
	// under its resourceVersion.
	lock *resourcelock.LeaseLock
	// record is what we wrote last.
	record resourcelock.LeaderElectionRecord
	// lookFirst: an update failed, so the object in lock may be out of date.
	lookFirst bool

	// seen is the record of another holder, seenAt when we first saw it so.
	seen   []byte
	seenAt time.Time
}

// Acquire implements [Lock].
func (l *kubernetesLock) Acquire(ctx context.Context) (token int64, held bool, err error) {
	found, raw, err := l.lock.Get(ctx)
	now := l.now()
	next := resourcelock.LeaderElectionRecord{
		HolderIdentity: l.campaign.Identity, LeaseDurationSeconds: int(l.campaign.Duration / time.Second),
		AcquireTime: now, RenewTime: now, LeaderTransitions: 1,
	}
	switch {
	case apierrors.IsNotFound(err):
		// Two who create it are told apart by the API server; so is a 404 that
		// did not mean the object.
		err = l.lock.Create(ctx, next)
	case err != nil:
		return 0, false, l.failed("read", err)
	case !l.free(found, raw):
		return 0, false, nil
	default:
		next.LeaderTransitions = found.LeaderTransitions + 1
		err = l.lock.Update(ctx, next)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, l.failed("acquire", err)
	}
	l.record, l.lookFirst = next, false
	return int64(next.LeaderTransitions), true, nil
}

// free reports whether the lease may be taken: it is no one's, ours, or has not
// changed for its duration, on our own monotonic clock, before our eyes. What
// times its holder wrote into it says nothing.
func (l *kubernetesLock) free(found *resourcelock.LeaderElectionRecord, raw []byte) bool {
	if found.HolderIdentity == "" || found.HolderIdentity == l.campaign.Identity {
		return true
	}
	now := l.campaign.Clock.Now()
	if !bytes.Equal(raw, l.seen) {
		l.seen, l.seenAt = raw, now
	}
	return now.Sub(l.seenAt) > time.Duration(found.LeaseDurationSeconds)*time.Second
}

// Renew implements [Lock].
func (l *kubernetesLock) Renew(ctx context.Context) error {
	if l.lookFirst {
		return l.lookAndRenew(ctx)
	}
	err := l.write(ctx)
	if apierrors.IsConflict(err) {
		// Someone has taken it; or labelled it, or an update of our own went
		// through whose answer we did not get.
		return l.lookAndRenew(ctx)
	}
	return err
}

func (l *kubernetesLock) lookAndRenew(ctx context.Context) error {
	mine, err := l.look(ctx)
	if err != nil {
		return l.failed("read", err)
	}
	if !mine {
		return l.failed("renew", ErrLost)
	}
	return l.write(ctx)
}

// look reads the object, and reports whether it is still under our identity
// and token. One that was removed is not.
func (l *kubernetesLock) look(ctx context.Context) (mine bool, err error) {
	found, _, err := l.lock.Get(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return found.HolderIdentity == l.campaign.Identity && found.LeaderTransitions == l.record.LeaderTransitions, nil
}

// write renews the object that was got or written last.
func (l *kubernetesLock) write(ctx context.Context) error {
	next := l.record
	next.RenewTime = l.now()
	err := l.lock.Update(ctx, next)
	l.lookFirst = err != nil
	if err != nil {
		return l.failed("renew", err)
	}
	l.record = next
	return nil
}

// releaseAttempts bounds how often a release looks again after a conflict.
const releaseAttempts = 3

// Release implements [Lock]. It leaves the record as client-go's electors do:
// no holder, and a second to go.
func (l *kubernetesLock) Release(ctx context.Context) error {
	// What the lock remembers is not ours to renew after this.
	l.lookFirst = true
	for range releaseAttempts {
		found, _, err := l.lock.Get(ctx)
		if apierrors.IsNotFound(err) || (err == nil && found.HolderIdentity != l.campaign.Identity) {
			return nil
		}
		if err != nil {
			return l.failed("release", err)
		}
		err = l.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, AcquireTime: l.now(), RenewTime: l.now(), LeaderTransitions: found.LeaderTransitions,
		})
		if !apierrors.IsConflict(err) {
			return l.failed("release", err)
		}
	}
	return l.failed("release", errors.New("others kept changing it"))
}

func (l *kubernetesLock) now() v1.Time { return v1.NewTime(l.campaign.Clock.Now()) }

func (l *kubernetesLock) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s lease %s: %w", doing, l.lock.Describe(), err)
}
