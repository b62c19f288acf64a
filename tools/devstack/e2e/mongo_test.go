package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetTimeout(5 * time.Second))
	if err != nil {
		t.Fatalf("connect to %s: %v", uri, err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

func (s *testStack) testGateways(t *testing.T) {
	first := connect(t, s.env["MONGODB_URI"]).Database("e2e").Collection("things")
	second := connect(t, s.env["MONGODB_URI_2"]).Database("e2e").Collection("things")
	if _, err := first.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "one"}}); err != nil {
		t.Fatalf("insert through the first gateway: %v", err)
	}
	if err := second.FindOne(t.Context(), bson.D{{Key: "_id", Value: "one"}}).Err(); err != nil {
		t.Fatalf("find through the second gateway: %v", err)
	}
}

func (s *testStack) testUsers(t *testing.T) {
	admin := connect(t, s.env["MONGODB_URI"]).Database("admin")
	roles := bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: "e2e"}}}
	create := bson.D{{Key: "createUser", Value: "runtime"}, {Key: "pwd", Value: "S3cret-word"}, {Key: "roles", Value: roles}}
	if err := admin.RunCommand(t.Context(), create).Err(); err != nil {
		t.Fatalf("create a user: %v", err)
	}
	if err := s.login(t, "runtime:S3cret-word@"); err != nil {
		t.Errorf("the user cannot log in: %v", err)
	}
	for who, login := range map[string]string{"a wrong password": "runtime:wrong@", "nobody": ""} {
		if err := s.login(t, login); err == nil || !strings.Contains(strings.ToLower(err.Error()), "auth") {
			t.Errorf("%s should be refused, got %v", who, err)
		}
	}
	if err := admin.RunCommand(t.Context(), bson.D{{Key: "dropUser", Value: "runtime"}}).Err(); err != nil {
		t.Fatalf("drop the user: %v", err)
	}
	if err := s.login(t, "runtime:S3cret-word@"); err == nil {
		t.Error("the dropped user can still log in")
	}
}

// login reads through the gateway that wants to know who one is.
func (s *testStack) login(t *testing.T, login string) error {
	client := connect(t, "mongodb://"+login+s.env["MONGODB_AUTH_ADDR"]+"/")
	_, err := client.Database("e2e").Collection("things").CountDocuments(t.Context(), bson.D{})
	return err
}

func (s *testStack) testPause(t *testing.T) {
	s.run(t, "pause", "ferretdb-1")
	if status := s.run(t, "status"); !strings.Contains(status, "paused") {
		t.Errorf("status does not show the pause:\n%s", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := connect(t, s.env["MONGODB_URI"]).Ping(ctx, nil); err == nil {
		t.Error("a paused gateway answers")
	}
	if err := connect(t, s.env["MONGODB_URI_2"]).Ping(t.Context(), nil); err != nil {
		t.Errorf("the other gateway does not answer: %v", err)
	}
	s.run(t, "resume", "ferretdb-1")
	if err := connect(t, s.env["MONGODB_URI"]).Ping(t.Context(), nil); err != nil {
		t.Errorf("the resumed gateway does not answer: %v", err)
	}
}

// testDurability kills PostgreSQL amid a stream of inserts: each one that was acknowledged must be there afterwards.
func (s *testStack) testDurability(t *testing.T) {
	collection := connect(t, s.env["MONGODB_URI_2"]).Database("e2e").Collection("durable")
	killed := make(chan struct{})
	var acknowledged []string
	for i := 0; ; i++ {
		if i == 300 {
			go func() { defer close(killed); s.run(t, "kill", "postgres") }()
		}
		id := fmt.Sprint(i)
		if _, err := collection.InsertOne(t.Context(), bson.D{{Key: "_id", Value: id}}); err != nil {
			break
		}
		acknowledged = append(acknowledged, id)
	}
	<-killed
	t.Log(s.run(t, "up"))
	count, err := collection.CountDocuments(t.Context(), bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: acknowledged}}}})
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	if int(count) != len(acknowledged) {
		t.Errorf("%d inserts were acknowledged, %d are there", len(acknowledged), count)
	}
}
