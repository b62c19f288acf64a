package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func treeCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "tree [gateway] ID",
		Short:             "Show a gateway, every document beneath it, and what exists for them outside of MongoDB",
		Example:           "  lockstep tree vn8ofl",
		Args:              between(1, 2),
		ValidArgsFunction: completeIDs(env, kinds[0]),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asWide, asJSON, asYAML)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			if k, err := kindOf(args[0]); err != nil || k.Kind != resource.KindApiGateway {
				return usage("a tree is a gateway's: use `lockstep tree ID` with the id of a gateway")
			}
			args = args[1:]
		}
		path, err := kinds[0].item(args[0])
		if err != nil {
			return err
		}
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		raw, err := r.call(cmd.Context(), http.MethodGet, path+"/tree", nil, nil)
		if err != nil {
			return err
		}
		if *format == asJSON || *format == asYAML {
			return env.encode(raw, *format)
		}
		root := &node{}
		if err := json.Unmarshal(raw, root); err != nil {
			return fmt.Errorf("read the server's answer: %w", err)
		}
		env.printf("%s", env.tree(root, *format == asWide))
		if root.Incomplete != "" {
			env.printf("Not all is shown: %s.\n", root.Incomplete)
		}
		return nil
	}
	return cmd
}

// node is a document in the tree.
type node struct {
	Kind      resource.Kind    `json:"kind"`
	ID        string           `json:"id"`
	State     engine.State     `json:"state"`
	Phase     engine.Phase     `json:"phase"`
	Condition engine.Condition `json:"condition"`
	Summary   string           `json:"summary"`
	Objects   []object         `json:"objects"`
	Children  []*node          `json:"children"`
	// Incomplete says why objects are missing.
	Incomplete string `json:"incomplete"`
}

// object is something outside of MongoDB.
type object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"`
}

// tree draws a node and all beneath it. Wide trees say of what is not settled
// why.
func (e *Env) tree(root *node, wide bool) string {
	titles := []string{"document or object", "id", "state", "phase", "condition"}
	if wide {
		titles = append(titles, "why")
	}
	t := newTable(e, titles...)
	e.branch(t, root, "", "", wide)
	return t.String()
}

// branch adds a node's row and those beneath it: head is what is drawn before
// its own name, stem before those of its children.
func (e *Env) branch(t *grid, n *node, head, stem string, wide bool) {
	phase, condition := string(n.Phase), string(n.Condition)
	if n.Condition == "" {
		phase = "gone"
	}
	row := []string{head + string(n.Kind), n.ID, string(n.State), phase, e.paint(moodOf(n.Condition), condition)}
	if wide {
		row = append(row, n.Summary)
	}
	t.row(row...)
	left := len(n.Objects) + len(n.Children)
	fork := func() (head, next string) {
		if left--; left > 0 {
			return stem + "├── ", stem + "│   "
		}
		return stem + "└── ", stem + "    "
	}
	for _, o := range n.Objects {
		head, _ := fork()
		t.row(e.objectRow(head, o, len(row))...)
	}
	for _, c := range n.Children {
		head, next := fork()
		e.branch(t, c, head, next, wide)
	}
}

func (e *Env) objectRow(head string, o object, columns int) []string {
	row := make([]string, columns)
	row[0], row[1] = head+e.paint(faint, o.Kind), e.paint(faint, o.Name)
	row[3] = e.paint(faint, strings.TrimSpace(o.Status))
	return row
}
