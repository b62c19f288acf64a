package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/lockstep-io/lockstep/tools/devstack/internal/debian"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// postgresUser exists in the tree; insidePostgres is where the tree sees the stack's data.
const (
	postgresUser   = "postgres"
	insidePostgres = "/srv/postgres"
)

// postgresSettings keep what was acknowledged through the death of PostgreSQL at any moment: a commit is handed to the
// kernel before it is acknowledged (synchronous_commit is on). It is not forced to the disk (fsync is off), so only a
// crash of the whole machine may lose or damage the data.
func (s *Stack) postgresSettings() []string {
	return []string{
		"listen_addresses=127.0.0.1", "port=" + s.port(portPostgres), "unix_socket_directories=",
		"shared_preload_libraries=pg_cron,pg_documentdb_core,pg_documentdb", "cron.database_name=postgres",
		"documentdb_core.enableCollation=on",
		"max_connections=400", "shared_buffers=256MB", "deadlock_timeout=20ms",
		"cron.log_statement=off", "cron.log_run=off", "cron.log_min_messages=warning", // DocumentDB's jobs run every 2 s
		// Pages may be torn when a process is killed in the middle of a write: their full images in the log stay on.
		"fsync=off", "max_wal_size=2GB", "jit=off",
	}
}

func (s *Stack) postgresURL() string {
	return fmt.Sprintf("postgres://%s@%s/postgres?sslmode=disable", postgresUser, s.addr(portPostgres))
}

func (s *Stack) mongoComponents() []component {
	gateway := func(name string, port int, more ...string) component {
		return component{name: name, port: port, after: []string{stepExtension}, ready: s.ferretReady(port),
			command: func() (*exec.Cmd, error) { return s.ferretCommand(name, port, more...) }}
	}
	return []component{
		{name: postgres, port: portPostgres, after: []string{stepInitdb}, command: s.postgresCommand, ready: s.postgresReady},
		gateway(ferret1, portFerret1, "--no-auth"),
		gateway(ferret2, portFerret2, "--no-auth"),
		gateway(ferretAuth, portFerretAuth),
	}
}

// insideTree is a command in the Debian tree, as PostgreSQL's user, with the stack's data in sight.
func (s *Stack) insideTree(argv ...string) (*exec.Cmd, error) {
	return debian.Command(s.tree.Root(), debian.Inside{
		User:  postgresUser,
		Binds: map[string]string{s.path("data", postgres): insidePostgres},
	}, argv...)
}

// initdb makes the database's files unless they are there. They are made aside, so that an interrupted attempt leaves nothing
// that looks complete.
func (s *Stack) initdb(ctx context.Context, say func(string)) error {
	dir := s.path("data", postgres)
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		say("kept")
		return nil
	}
	uid, gid, err := debian.LookupUser(s.tree.Root(), postgresUser)
	if err != nil {
		return err
	}
	err = errors.Join(os.RemoveAll(filepath.Join(dir, "new")), os.MkdirAll(dir, 0o700), os.Chown(dir, uid, gid))
	if err != nil {
		return fmt.Errorf("make the folder of the data: %w", err)
	}
	cmd, err := s.insideTree("initdb", "--pgdata", insidePostgres+"/new", "--username", postgresUser, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	say("made")
	return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data"))
}

// postgresCommand starts PostgreSQL. Only called when no process of it is left: a lock file from a crash, whose pid
// may be another process's by now, is removed first.
func (s *Stack) postgresCommand() (*exec.Cmd, error) {
	if err := os.Remove(s.path("data", postgres, "data", "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the stale lock of PostgreSQL: %w", err)
	}
	argv := []string{"postgres", "-D", insidePostgres + "/data"}
	for _, setting := range s.postgresSettings() {
		argv = append(argv, "-c", setting)
	}
	return s.insideTree(argv...)
}

func (s *Stack) postgresReady(ctx context.Context) error { return s.postgresExec(ctx, "SELECT 1") }

// createExtension is done on every start: it costs nothing when done before.
func (s *Stack) createExtension(ctx context.Context, say func(string)) error {
	if err := s.postgresExec(ctx, "SET client_min_messages=error; CREATE EXTENSION IF NOT EXISTS documentdb CASCADE"); err != nil {
		return fmt.Errorf("create the DocumentDB extension: %w", err)
	}
	say("in place")
	return nil
}

func (s *Stack) postgresExec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.postgresURL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (s *Stack) ferretCommand(name string, port int, more ...string) (*exec.Cmd, error) {
	binary, err := beside("ferretdb")
	if err != nil {
		return nil, err
	}
	state := s.path("data", name)
	if err := os.MkdirAll(state, 0o755); err != nil {
		return nil, fmt.Errorf("make the state folder of %s: %w", name, err)
	}
	return exec.Command(binary, append([]string{"--postgresql-url=" + s.postgresURL(), "--listen-addr=" + s.addr(port),
		"--debug-addr=-", "--telemetry=disable", "--log-level=warn", "--state-dir=" + state}, more...)...), nil
}

// ferretReady asks for a list of databases, which reaches PostgreSQL. A gateway that wants a login says so, and is well.
func (s *Stack) ferretReady(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := mongo.Connect(options.Client().ApplyURI(s.mongoURI(port)))
		if err != nil {
			return err
		}
		defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
		err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "listDatabases", Value: 1}}).Err()
		if err != nil && strings.Contains(err.Error(), "requires authentication") {
			return nil
		}
		return err
	}
}

func (s *Stack) mongoURI(port int) string { return "mongodb://" + s.addr(port) + "/" }

// beside finds what the build has put beside this binary.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this binary: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find %s beside this binary (build with tools/devstack/build.sh): %w", name, err)
	}
	return path, nil
}
