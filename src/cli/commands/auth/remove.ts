import { removeCredential } from "../../../llm/credentials/login-edits.ts"
import type { CredentialReport } from "../../../llm/credentials/pool.ts"
import { CliError, type Invocation } from "../../command.ts"
import { openTarget } from "./provider-pool.ts"

/** `hermes auth remove PROVIDER NUMBER|ID|LABEL` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals } = invocation
  const which = positionals[1] ?? ""
  const { provider, place, pool } = await openTarget(invocation)
  const target = findTarget(pool.report(), which)
  if (target === undefined) {
    throw new CliError(
      `There is no credential \`${which}\` at ${provider}; \`hermes auth list ${provider}\` shows what there is`,
      { exitCode: 1 },
    )
  }
  const removed = await removeCredential(place, target)
  if (!removed.ok) throw new CliError(removed.error, { exitCode: 1 })
  terminal.line(`Removed ${target.label} from ${provider}.`)
  const borrowed = /^(env|config):(.*)$/.exec(target.source)
  if (borrowed !== null) {
    terminal.line(`${borrowed[2] ?? ""} itself was left alone; Hermes no longer uses it for ${provider}.`)
  }
  return 0
}

/** An id or a label is exact; a number counts from one, as the list does. */
function findTarget(reports: readonly CredentialReport[], which: string): CredentialReport | undefined {
  const labelled = reports.filter(({ label }) => label === which)
  if (labelled.length > 1) {
    throw new CliError(`Several credentials are called \`${which}\`; name one by its id: ${ids(labelled)}`, {
      exitCode: 1,
    })
  }
  const exact = reports.find(({ id }) => id === which) ?? labelled[0]
  if (exact !== undefined) return exact
  return /^[1-9]\d{0,3}$/.test(which) ? reports[Number(which) - 1] : undefined
}

function ids(reports: readonly CredentialReport[]): string {
  return reports.map(({ id }) => id).join(", ")
}
