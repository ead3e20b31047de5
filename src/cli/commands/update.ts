import { checkForUpdate, findInstallation } from "../../admin/program/installation.ts"
import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { VERSION } from "../version.ts"

const SHOWN_DIGITS = 10

/** `hermes update --check`: whether there is a newer version. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, environment, signal } = invocation
  const installation = findInstallation(process.argv[1] ?? "")
  if (!flags.has("check"))
    throw new CliError(
      installation.kind === "checkout"
        ? `Updating by command is not available in this release. Run \`git pull\` in ${installation.root}; \`hermes update --check\` shows whether there is a newer version.`
        : "Updating by command is not available in this release. Run `npm install -g hermes-agent@latest`.",
      { exitCode: 1 },
    )
  if (installation.kind !== "checkout") {
    terminal.line(
      `Hermes ${VERSION} was not installed from a checkout. \`npm outdated -g hermes-agent\` shows whether there is a newer version.`,
    )
    return 0
  }
  const { progress } = homeContext(invocation)
  progress?.({ step: "asking the origin for its newest version" })
  const state = await checkForUpdate(installation, { branch: flags.text("branch"), environment, signal })
  progress?.(undefined)
  if (!state.ok) throw new CliError(state.error, { exitCode: 1 })
  const { installed, newest, isCurrent } = state.value
  terminal.line(
    isCurrent
      ? `Hermes ${VERSION} (${installed.slice(0, SHOWN_DIGITS)}) is up to date.`
      : `There is another version: ${newest.slice(0, SHOWN_DIGITS)}, this is ${installed.slice(0, SHOWN_DIGITS)}. Run \`git pull\` in ${installation.root}; the next start builds it.`,
  )
  return 0
}
