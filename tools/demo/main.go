// Command demo runs two API gateways through their whole lives on real
// servers, with three replicas of the service, and shows it as it happens. In
// the end it looks at the servers themselves: it fails if anything is left.
//
// It is started by `make demo`, which brings the servers up first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// settings are the demo's.
type settings struct {
	binary     string
	mongoURI   string
	kubeconfig string
	folder     string
	basePort   int
	within     time.Duration
	killOne    bool
	mongosh    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, parse())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: "+err.Error())
		os.Exit(1)
	}
}

func parse() settings {
	var o settings
	flag.StringVar(&o.binary, "lockstep", "bin/lockstep", "the service's binary")
	flag.StringVar(&o.folder, "folder", ".stack/demo", "where logs and settings are kept")
	flag.IntVar(&o.basePort, "port", 18080, "first of the three replicas' ports on 127.0.0.1")
	flag.DurationVar(&o.within, "within", 10*time.Minute, "how long the demo may take in all")
	flag.BoolVar(&o.killOne, "kill-one", false, "kill one replica with SIGKILL in the middle")
	flag.StringVar(&o.mongosh, "mongosh", "mongosh", "how mongosh is called, for what is said in the end")
	flag.Parse()
	o.mongoURI, o.kubeconfig = os.Getenv("MONGODB_URI"), os.Getenv("KUBECONFIG")
	return o
}

func run(ctx context.Context, o settings) error {
	if o.mongoURI == "" || o.kubeconfig == "" {
		return errors.New("MONGODB_URI and KUBECONFIG are not set: run `make demo`, or set them to servers of your own")
	}
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()

	servers, err := connect(o)
	if err != nil {
		return err
	}
	defer servers.close()
	if err := servers.prepare(ctx); err != nil {
		return err
	}
	replicas, token, err := startReplicas(ctx, o)
	if err != nil {
		return err
	}
	defer replicas.stop()
	say("Three replicas of lockstep are up; their logs are in %s.", filepath.Join(o.folder, "replica-*.log"))
	say("The API: %s (docs at /docs). The token of this demo: %s", replicas.url(0), token)

	board := newBoard(servers.documents)
	watching := board.watch(ctx)
	err = play(ctx, o, &api{base: replicas.url, token: token}, servers, replicas, board)
	watching()
	if err != nil {
		board.print()
		return fmt.Errorf("%w\nThe replicas' logs: %s", err, filepath.Join(o.folder, "replica-*.log"))
	}
	board.timelines()
	board.byReplica(replicas.names())
	if err := servers.nothingLeft(ctx, board.gateways()); err != nil {
		return err
	}
	farewell(o)
	return nil
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func farewell(o settings) {
	fmt.Printf(`
To look around by yourself, with the stack still up (make stack-down ends it):
  documents   %s '%s' --eval 'db.getSiblingDB("%s").ApiGateway.find()'
  objects     KUBECONFIG=%s kubectl get ns -l app.kubernetes.io/managed-by=lockstep
  by hand     db.ApiGateway.updateOne({gatewayId: '…'}, {$set: {state: 'Stopped'}})
`, o.mongosh, o.mongoURI, databaseName, o.kubeconfig)
}
