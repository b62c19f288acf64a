package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// machine is what the bench, and as a rule the server, runs on.
type machine struct {
	processor string
	cores     int
	memory    string
	system    string
	golang    string
	load      string
}

func describeMachine() machine {
	return machine{
		processor: field("/proc/cpuinfo", "model name"), cores: runtime.NumCPU(), memory: memory(),
		system: runtime.GOOS + "/" + runtime.GOARCH, golang: runtime.Version(), load: load(),
	}
}

// String describes the machine in a line.
func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s of memory, %s, %s, load %s", m.processor, m.cores, m.memory, m.system, m.golang, m.load)
}

// unknown is what is said where a system does not tell.
const unknown = "unknown"

// field is the first value of that name in a file of lines "name: value".
func field(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func memory() string {
	var kilobytes float64
	if n, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%f kB", &kilobytes); n != 1 || err != nil {
		return unknown
	}
	return fmt.Sprintf("%.0f GiB", kilobytes/(1<<20))
}

// load is the machine's load average of the last minute: what else ran while
// the bench did.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	minute, _, ok := strings.Cut(string(text), " ")
	if !ok {
		return unknown
	}
	return minute
}

// describeServer asks the server what it is.
func describeServer(ctx context.Context, client *mongo.Client) (string, error) {
	var info struct {
		Version  string `bson:"version"`
		FerretDB *struct {
			Version    string `bson:"version"`
			PostgreSQL string `bson:"postgresql"`
			DocumentDB string `bson:"documentdb"`
		} `bson:"ferretdb"`
	}
	admin := client.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info); err != nil {
		return "", fmt.Errorf("ask the server of MONGODB_URI what it is: %w", err)
	}
	if info.FerretDB == nil {
		return "MongoDB " + info.Version, nil
	}
	// What is below FerretDB only its serverStatus tells.
	_ = admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&info)
	f := info.FerretDB
	return fmt.Sprintf("FerretDB %s on DocumentDB %s, %s", f.Version, firstWords(f.DocumentDB, 1), firstWords(f.PostgreSQL, 2)), nil
}

// firstWords are the first n words of a text.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return unknown
	}
	return strings.Join(words[:min(n, len(words))], " ")
}
