import { findInstallation, type Installation } from "../../admin/program/installation.ts"
import { planUninstall, uninstall } from "../../admin/program/uninstall.ts"
import { assertNever } from "../../base/assert-never.ts"
import { runningGateway } from "../../admin/gateway-process.ts"
import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { confirmed } from "../terminal/confirmation.ts"

/** `hermes uninstall [--full]`: removes the commands; with `--full` also all data, after the user has typed its path. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const context = homeContext(invocation)
  const installation = findInstallation(process.argv[1] ?? "")
  const plan = await planUninstall(context, installation)
  const isFull = flags.has("full")
  const paths = [...plan.wrappers.map(({ path }) => path), ...(plan.link === undefined ? [] : [plan.link])]
  for (const path of paths) terminal.line(`Removes ${home.display(path)}`)
  if (isFull) {
    const pid = runningGateway(home)
    if (pid !== undefined)
      throw new CliError(`The gateway is running as process ${pid}. Stop it first: \`kill ${pid}\``, { exitCode: 1 })
    terminal.line(`Removes ${plan.data}: all sessions, settings, keys, memory and skills of all profiles`)
    const typed = await terminal.ask(`Type ${plan.data} to delete it: `)
    if (typed?.trim() !== plan.data) throw new CliError("Nothing was removed: the path was not typed.", { exitCode: 1 })
  } else if (
    paths.length > 0 &&
    !(await confirmed("Remove these commands? Your data stays.", { terminal, assumed: flags.has("yes") }))
  ) {
    terminal.line("Nothing was removed.")
    return 0
  }
  uninstall(context, plan, { data: isFull })
  terminal.line(isFull ? "The commands and all data were removed." : `Your data stays in ${home.display(plan.data)}.`)
  terminal.line(programText(installation))
  return 0
}

/** A running program cannot remove itself, so the user does. */
function programText({ kind, root }: Installation): string {
  switch (kind) {
    case "package":
      return "Remove the program with: npm uninstall -g hermes-agent"
    case "checkout":
    case "unknown":
      return `Remove the program by deleting ${root}`
    default:
      return assertNever(kind)
  }
}
