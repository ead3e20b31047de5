import { editConfig } from "../../../config/edit.ts"
import { STRATEGIES } from "../../../llm/credentials/selection.ts"
import { CliError, type Invocation } from "../../command.ts"
import { granted } from "../../settings-access.ts"
import { openTarget } from "./provider-pool.ts"

/** `hermes auth strategy PROVIDER NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home, positionals } = invocation
  const name = positionals[1] ?? ""
  const { provider, settings } = await openTarget(invocation)
  const strategy = STRATEGIES.find((known) => known === name)
  if (strategy === undefined) {
    throw new CliError(`\`${name}\` is not a strategy; choose ${STRATEGIES.join(", ")}`, { exitCode: 2 })
  }
  const path = ["credential_pool_strategies", provider]
  granted(await editConfig({ home, environment: settings.environment }, [{ path, value: strategy }]))
  terminal.line(`Credentials of ${provider} now take turns by ${strategy}.`)
  return 0
}
