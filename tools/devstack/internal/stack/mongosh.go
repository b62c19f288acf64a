package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/debian"
)

const mongoshVersion = "2.12.0"

// Mongosh installs mongosh from npm into the cache unless it is there. What it returns the path of is a small script that
// gives it a home of its own, so that it never reads or writes the developer's.
func Mongosh(ctx context.Context, out io.Writer) (path string, err error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "mongosh-"+mongoshVersion)
	path = filepath.Join(dir, "mongosh")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	install := func(ctx context.Context, say func(string)) error { return installMongosh(ctx, cache, dir, path, say) }
	return path, runSteps(ctx, out, []step{{name: "mongosh", run: install}})
}

func installMongosh(ctx context.Context, cache, dir, path string, say func(string)) error {
	say("npm install mongosh@" + mongoshVersion)
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return fmt.Errorf("make the folder of mongosh: %w", err)
	}
	log := filepath.Join(cache, "mongosh.log")
	if err := debian.InstallOnHost(ctx, log, say, "npm"); err != nil {
		return err
	}
	err := debian.Run(ctx, log, say, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts",
		"--loglevel=http", "mongosh@"+mongoshVersion)
	if err != nil {
		return fmt.Errorf("install mongosh (log: %s): %w", log, err)
	}
	script := fmt.Sprintf("#!/bin/sh\nHOME='%s' exec '%s' --quiet --norc \"$@\"\n",
		home, filepath.Join(dir, "node_modules/.bin/mongosh"))
	if err := errors.Join(os.WriteFile(path+".new", []byte(script), 0o755), os.Rename(path+".new", path)); err != nil {
		return fmt.Errorf("write the script of mongosh: %w", err)
	}
	say("installed")
	return nil
}
