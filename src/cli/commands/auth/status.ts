import { isRecord } from "../../../base/json.ts"
import { strategyNamed } from "../../../llm/credentials/selection.ts"
import { readLogin } from "../../../llm/credentials/stored-login.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { credentialJson, credentialLines } from "./credential-lines.ts"
import { openTarget } from "./provider-pool.ts"

/** `hermes auth status PROVIDER` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const { provider, settings, place, pool } = await openTarget(invocation)
  const strategies = settings.config.get("credential_pool_strategies")
  const strategy = strategyNamed(isRecord(strategies) ? strategies[provider] : undefined)
  const reports = pool.report()
  const loggedIn = readLogin(place).state !== undefined || reports.some(({ kind }) => kind === "oauth")
  if (flags.has("json")) {
    printJson(terminal, { provider, logged_in: loggedIn, strategy, credentials: reports.map(credentialJson) })
    return 0
  }
  terminal.line(`Provider    ${provider}`)
  terminal.line(`Logged in   ${loggedIn ? "yes" : "no"}`)
  terminal.line(`Strategy    ${strategy}`)
  terminal.line(`Usable now  ${pool.available()} of ${pool.size()}`)
  for (const line of credentialLines(reports)) terminal.line(line)
  return 0
}
