package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// oldest is the wire version of MongoDB 4.4, the oldest that the driver knows
// how to speak with.
const oldest = 9

// Documents checks the server on which the documents are.
func Documents(ctx context.Context, cfg config.Config) []Check {
	r := &report{where: "MongoDB of the documents"}
	client := r.connect(ctx, cfg.MongoDB.URI.Reveal(), "--mongodb-uri (LOCKSTEP_MONGODB_URI)")
	if client == nil {
		return r.checks
	}
	defer closeClient(client)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db := client.Database(cfg.MongoDB.Database)
	r.permissions(ctx, client, []need{{"find, insert, update, remove and createIndex", cfg.MongoDB.Database, "readWrite"}})
	r.indexes(ctx, db, cfg)
	return r.checks
}

// Runtime checks the server on which a region's gateways have their databases.
func Runtime(ctx context.Context, region resource.Region) []Check {
	r := &report{where: "MongoDB of region " + region.Name}
	client := r.connect(ctx, region.RuntimeMongoURI, "the region's runtimeMongoUri (--runtime-mongodb-uri)")
	if client == nil {
		return r.checks
	}
	defer closeClient(client)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.permissions(ctx, client, []need{
		{"make and drop users", "admin", "userAdminAnyDatabase"},
		{"read, write and drop all databases gw_*", "admin", "readWriteAnyDatabase and dbAdminAnyDatabase"},
	})
	return r.checks
}

// connect checks reachability, version and clock; nil if it cannot be used.
func (r *report) connect(ctx context.Context, uri, option string) *mongo.Client {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(5 * time.Second).SetAppName("lockstep doctor"))
	if err != nil {
		// Not the driver's words: they can quote the password.
		r.bad("address", "put "+option+" right: mongodb://USER:PASSWORD@HOST:PORT/", "not the address of a MongoDB")
		return nil
	}
	var hello struct {
		MaxWireVersion int       `bson:"maxWireVersion"`
		LocalTime      time.Time `bson:"localTime"`
		ReadOnly       bool      `bson:"readOnly"`
	}
	before := time.Now()
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		r.bad("answers", "start it, open the way to it, or put "+option+" right", "no: %s", firstLine(err))
		closeClient(client)
		return nil
	}
	between := before.Add(time.Since(before) / 2)
	r.version(ctx, client, hello.MaxWireVersion)
	if hello.ReadOnly {
		r.bad("writable", "name all members of the replica set in "+option, "no: it is read-only")
	}
	r.checks = append(r.checks, ClockCheck(r.where, hello.LocalTime, between, time.Since(before)))
	return client
}

func (r *report) version(ctx context.Context, client *mongo.Client, wire int) {
	var build struct {
		Version  string `bson:"version"`
		FerretDB struct {
			Version string `bson:"version"`
		} `bson:"ferretdb"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		r.bad("answers", "give the user of the address the right to log in", "it refuses: %s", firstLine(err))
		return
	}
	said := "MongoDB " + build.Version
	if v := build.FerretDB.Version; v != "" {
		said += " (FerretDB " + v + ")"
		if strings.HasPrefix(v, "v1.") || strings.HasPrefix(v, "1.") {
			r.bad("version", "use FerretDB 2 or MongoDB: claims are not atomic on FerretDB 1", "%s", said)
			return
		}
	}
	if wire < oldest {
		r.bad("version", "use MongoDB 4.4 or later", "%s", said)
		return
	}
	r.good("version", "%s", said)
}

// need is a right, in words, and the role that has it.
type need struct{ right, database, role string }

// permissions asks which roles the user has. A server without access control
// names no user, and lets everybody do everything.
func (r *report) permissions(ctx context.Context, client *mongo.Client, needs []need) {
	var status struct {
		AuthInfo struct {
			Users []struct {
				User string `bson:"user"`
			} `bson:"authenticatedUsers"`
			Roles []struct {
				Role string `bson:"role"`
				DB   string `bson:"db"`
			} `bson:"authenticatedUserRoles"`
		} `bson:"authInfo"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "connectionStatus", Value: 1}}).Decode(&status); err != nil {
		r.add("permissions", Warning, "", "the server does not tell: %s", firstLine(err))
		return
	}
	if len(status.AuthInfo.Users) == 0 {
		r.add("permissions", Warning, "turn access control on, unless nobody else can reach it", "nobody has to log in")
		return
	}
	var roles []string
	for _, role := range status.AuthInfo.Roles {
		roles = append(roles, role.Role+"@"+role.DB)
	}
	user := status.AuthInfo.Users[0].User
	for _, n := range needs {
		if allows(roles, n) {
			r.good("permissions", "user %s may %s", user, n.right)
		} else {
			r.add("permissions", Warning, fmt.Sprintf("give it the role %s on %s, unless a role of your own says as much", n.role, n.database),
				"user %s has the roles [%s], of which none is known to let it %s", user, strings.Join(roles, " "), n.right)
		}
	}
}

func allows(roles []string, n need) bool {
	has := func(role string) bool { return slices.Contains(roles, role) }
	if has("root@admin") || n.database != "admin" && (has("readWriteAnyDatabase@admin") || has(n.role+"@"+n.database) || has("dbOwner@"+n.database)) {
		return true
	}
	for role := range strings.SplitSeq(n.role, " and ") {
		if !has(role + "@admin") {
			return false
		}
	}
	return n.database == "admin"
}

// indexes compares those that are needed with those that are there.
func (r *report) indexes(ctx context.Context, db *mongo.Database, cfg config.Config) {
	docs := documents.Open(db)
	run, err := platform.New(docs, nil, platform.Options{LockTimeout: cfg.Engine.LockTimeout})
	if err != nil {
		r.bad("indexes", "", "%s", firstLine(err))
		return
	}
	missing, err := docs.MissingIndexes(ctx, run.Rules())
	if err != nil {
		r.bad("indexes", "give the user the right to list indexes (readWrite)", "cannot be listed: %s", firstLine(err))
		return
	}
	if len(missing) == 0 {
		r.good("indexes", "all there, in database %s", db.Name())
		return
	}
	for _, kind := range resource.Kinds {
		if names := missing[kind]; len(names) > 0 {
			r.bad("indexes", "start `lockstep serve`, which makes them; one that differs must be dropped first: db."+string(kind)+".dropIndex(NAME)",
				"%s lacks, or has otherwise: %s", kind, strings.Join(names, ", "))
		}
	}
}

func closeClient(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = client.Disconnect(ctx)
}

// firstLine keeps drivers' long words short.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}
