package debian

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Inside says how a program runs in the tree.
type Inside struct {
	User  string            // a user of the tree; root when empty
	Binds map[string]string // folders of the host, and where the program sees them
}

// EnterCommand is the hidden subcommand that Command makes this binary run; main hands its arguments to Enter.
const EnterCommand = "enter-debian"

// Command runs argv inside the tree at root. The process is this binary, in a mount namespace of its own; it mounts what is
// needed, changes its root and its user, and becomes the program: the pid stays the same.
func Command(root string, in Inside, argv ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	args := []string{EnterCommand, "--root", root, "--user", in.User}
	for host, inside := range in.Binds {
		args = append(args, "--bind", host+"="+inside)
	}
	cmd := exec.Command(self, append(append(args, "--"), argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} // Go makes the mounts private, too
	return cmd, nil
}

// Enter is the other half of Command. It returns only if it fails.
func Enter(args []string) error {
	flags := flag.NewFlagSet(EnterCommand, flag.ContinueOnError)
	root := flags.String("root", "", "root of the tree")
	user := flags.String("user", "", "user of the tree")
	binds := map[string]string{}
	flags.Func("bind", "HOST=INSIDE, a folder to show", func(value string) error {
		host, inside, ok := strings.Cut(value, "=")
		if !ok {
			return errors.New("want HOST=INSIDE")
		}
		binds[host] = inside
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	uid, gid, err := LookupUser(*root, *user)
	if err != nil {
		return err
	}
	if err := mountAll(*root, binds); err != nil {
		return err
	}
	if err := errors.Join(syscall.Chroot(*root), syscall.Chdir("/")); err != nil {
		return fmt.Errorf("change the root to %s: %w", *root, err)
	}
	if err := become(uid, gid); err != nil {
		return err
	}
	os.Setenv("PATH", "/usr/lib/postgresql/18/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/")
	os.Setenv("LC_ALL", "C.UTF-8")
	os.Setenv("DEBIAN_FRONTEND", "noninteractive")
	program, err := exec.LookPath(flags.Arg(0))
	if err != nil {
		return err
	}
	return fmt.Errorf("become %s: %w", program, syscall.Exec(program, flags.Args(), os.Environ()))
}

func mountAll(root string, binds map[string]string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	err := errors.Join(
		unix.Mount("proc", in("/proc"), "proc", 0, ""),
		unix.Mount("/dev", in("/dev"), "", unix.MS_BIND|unix.MS_REC, ""),
		unix.Mount("tmpfs", in("/dev/shm"), "tmpfs", 0, "mode=1777"))
	for host, inside := range binds {
		err = errors.Join(err, os.MkdirAll(in(inside), 0o755), unix.Mount(host, in(inside), "", unix.MS_BIND, ""))
	}
	if err != nil {
		return fmt.Errorf("mount what the tree needs: %w", err)
	}
	return nil
}

func become(uid, gid int) error {
	if uid == 0 {
		return nil
	}
	if err := errors.Join(syscall.Setgroups([]int{gid}), syscall.Setgid(gid), syscall.Setuid(uid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

// LookupUser finds a user in the tree's own passwd file; the empty name is root.
func LookupUser(root, name string) (uid, gid int, err error) {
	if name == "" {
		return 0, 0, nil
	}
	file, err := os.Open(filepath.Join(root, "etc/passwd"))
	if err != nil {
		return 0, 0, fmt.Errorf("look up user %s: %w", name, err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) > 3 && fields[0] == name {
			uid, uidErr := strconv.Atoi(fields[2])
			gid, gidErr := strconv.Atoi(fields[3])
			return uid, gid, errors.Join(uidErr, gidErr)
		}
	}
	return 0, 0, fmt.Errorf("the tree at %s has no user %s", root, name)
}
