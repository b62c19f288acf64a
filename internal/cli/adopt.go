package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func adoptCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt gateway ID",
		Short: "Take up a gateway again whose document is lost; for operators",
		Long: `Make the document of a gateway anew whose document is lost: it was removed by
mistake, or is not in the backup that was restored. What is left of the gateway
is taken on as it is, and what is missing is made. Say again what the lost
document said: its name, region, tenant and settings.`,
	}
	cmd.AddCommand(adoptGateway(env))
	return cmd
}

func adoptGateway(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	settings := gatewayFlags(cmd)
	name := cmd.Flags().String("name", "", "its name")
	reason := reasonFlag(cmd)
	m := &maker{
		kind: resource.KindApiGateway, arg: "ID",
		short:   "Take up a gateway again whose document is lost; for operators",
		example: `  lockstep adopt gateway vn8ofl --name shop --region eu --reason "its document was removed by mistake" --wait`,
		body: func(id string) (string, map[string]any, error) {
			if err := required(cmd, "name", "reason"); err != nil {
				return "", nil, err
			}
			path, err := kinds[0].item(id)
			if err != nil {
				return "", nil, err
			}
			body, err := settings(*name)
			if err != nil {
				return "", nil, err
			}
			body["reason"] = *reason
			return path + "/adopt", body, nil
		},
	}
	return m.command(env, cmd)
}
