// Package debian keeps an unpacked Debian sid with DocumentDB in the cache, and runs programs inside it.
//
// The package postgresql-18-documentdb needs a newer C library than Debian 12 has, so it is unpacked beside the system,
// not into it. Every program in it runs in a mount namespace of its own: the mounts it needs (/proc, /dev, the data of its
// stack) are seen by it alone and end with it, however it ends. There is nothing to unmount, and stacks share one tree.
package debian

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// Package is what the tree is for, ProvenVersion the version this stack was tried with.
	Package       = "postgresql-18-documentdb"
	ProvenVersion = "1.0-0"

	suite = "sid"

	// MirrorEnv names the variable that chooses another mirror than debootstrap's own, such as a dated snapshot.
	MirrorEnv = "LOCKSTEP_DEBIAN_MIRROR"
)

// Tree is an unpacked suite in a cache folder.
type Tree struct {
	Cache string
}

// Root is the root folder of the unpacked suite.
func (t Tree) Root() string { return filepath.Join(t.Cache, "documentdb-"+suite) }

func (t Tree) debs() string { return filepath.Join(t.Cache, "debs") }
func (t Tree) log() string  { return filepath.Join(t.Cache, "documentdb-"+suite+".log") }

// Ready says whether the tree is complete: it is renamed into its place as the last act.
func (t Tree) Ready() bool {
	_, err := os.Stat(t.Root())
	return err == nil
}

// Ensure unpacks the suite unless it is there. It fetches about 150 MB and takes a minute or more; say is told what goes on.
func (t Tree) Ensure(ctx context.Context, say func(string)) error {
	if t.Ready() {
		return nil
	}
	unlock, err := t.lock(ctx, say)
	if err != nil {
		return err
	}
	defer unlock()
	if t.Ready() { // another stack did it meanwhile
		return nil
	}
	if err := InstallOnHost(ctx, t.log(), say, "debootstrap"); err != nil {
		return err
	}
	partial := t.Root() + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(t.debs(), 0o755)); err != nil {
		return fmt.Errorf("prepare the folder of the suite: %w", err)
	}
	if err := t.bootstrap(ctx, partial, say); err != nil {
		return fmt.Errorf("unpack Debian %s (log: %s): %w", suite, t.log(), err)
	}
	if err := t.installPackage(ctx, partial, say); err != nil {
		return fmt.Errorf("install %s (log: %s): %w", Package, t.log(), err)
	}
	say("unpacked")
	return os.Rename(partial, t.Root())
}

// bootstrap unpacks the minimal suite. debootstrap mounts /proc by itself, hence the namespace.
func (t Tree) bootstrap(ctx context.Context, root string, say func(string)) error {
	args := []string{"--variant=minbase", "--cache-dir=" + t.debs(), suite, root}
	if mirror := os.Getenv(MirrorEnv); mirror != "" {
		args = append(args, mirror)
	}
	cmd := exec.Command("debootstrap", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := run(ctx, cmd, t.log(), say); err != nil {
		return err
	}
	// No service starts when its package is installed, and dpkg need not wait for the disk.
	return errors.Join(
		os.WriteFile(filepath.Join(root, "usr/sbin/policy-rc.d"), []byte("#!/bin/sh\nexit 101\n"), 0o755),
		os.WriteFile(filepath.Join(root, "etc/dpkg/dpkg.cfg.d/unsafe-io"), []byte("force-unsafe-io\n"), 0o644))
}

// installPackage installs DocumentDB from the newest state of the rolling suite. An index that is past its date is taken
// all the same.
func (t Tree) installPackage(ctx context.Context, root string, say func(string)) error {
	apt := func(args ...string) error {
		cmd, err := Command(root, Inside{Binds: map[string]string{t.debs(): "/var/cache/apt/archives"}},
			append([]string{"apt-get", "-y", "-o", "Acquire::Check-Valid-Until=false", "-o", "Acquire::Retries=3", "-o", "Acquire::Languages=none",
				"-o", "APT::Sandbox::User=root", "-o", "APT::Keep-Downloaded-Packages=true"}, args...)...)
		if err != nil {
			return err
		}
		return run(ctx, cmd, t.log(), say)
	}
	if err := apt("update"); err != nil {
		return err
	}
	version, err := candidate(root)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(version, ProvenVersion) {
		say(fmt.Sprintf("note: the suite has moved on to %s %s; this stack was tried with %s", Package, version, ProvenVersion))
	}
	if err := apt("install", "--no-install-recommends", Package+"="+version); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(root, "var/lib/apt/lists"))
}

// candidate is the version of the package that the suite offers now.
func candidate(root string) (string, error) {
	cmd, err := Command(root, Inside{}, "apt-cache", "policy", Package)
	if err != nil {
		return "", err
	}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of %s: %w", Package, err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if version, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Candidate: "); ok && version != "(none)" {
			return version, nil
		}
	}
	return "", fmt.Errorf("%s has gone from Debian %s, which rolls: set %s to a dated snapshot of the archive that still has "+
		"it, copy a cache that holds it, or set MONGODB_URI to a server of your own", Package, suite, MirrorEnv)
}
