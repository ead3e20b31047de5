import { loadHome } from "../../admin/loaded-home.ts"
import { modelFacts } from "../../admin/report/setup-facts.ts"
import { backUpConfig, resetConfig } from "../../admin/setup/config-backup.ts"
import { ensureHome } from "../../config/home.ts"
import { configuredProfile } from "../../policy/permission-profile.ts"
import { CliError, type Invocation } from "../command.ts"
import { valueOrCliError } from "../command-result.ts"
import { homeContext } from "../home-context.ts"
import { DEFAULT_LOGIN_FLAGS } from "./auth/log-in.ts"
import { chooseInteractively } from "./model/choose.ts"
import { loginPrompt, WITHOUT_A_TERMINAL } from "./model/model.ts"
import { askToolsets } from "./setup-toolsets.ts"
import { offerTestTurn } from "./setup-test-turn.ts"
import { AGENT_QUESTIONS, askQuestions, TERMINAL_QUESTIONS } from "./setup-questions.ts"

const SECTIONS = ["model", "terminal", "agent", "tools"]

/** `hermes setup`: asks what a new user has to decide, and shows the current value of each. Ctrl+C keeps what was answered completely. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, environment } = invocation
  const [section] = positionals
  if (section !== undefined && !SECTIONS.includes(section)) {
    throw new CliError(
      `\`hermes setup ${section}\` is not available in this release yet. The sections are ${SECTIONS.join(", ")}.`,
      { exitCode: 1 },
    )
  }
  ensureHome(home, environment)
  if (flags.has("non-interactive") || !terminal.stdinIsTty) {
    const ofSection = flags.has("non-interactive") ? undefined : settingsOf(section)
    const lines = ofSection ?? (await summary(invocation)) ?? WITHOUT_A_TERMINAL
    for (const line of lines) terminal.errLine(line)
    return flags.has("non-interactive") ? 0 : 1
  }
  const copy = backUpConfig(homeContext(invocation))
  if (copy !== undefined) terminal.errLine(`The previous settings are kept in ${home.display(copy)}.`)
  if (flags.has("reset")) await resetSettings(invocation)
  const includes = (name: string): boolean => (section ?? name) === name
  const quick = flags.has("quick")
  if (includes("model") && !(quick && (await summary(invocation)) !== undefined)) await askModel(invocation)
  if (includes("terminal") && !quick) await askQuestions(TERMINAL_QUESTIONS, invocation)
  if (includes("agent") && !quick) await askQuestions(AGENT_QUESTIONS, invocation)
  if (includes("tools") && !quick) await askToolsets(invocation)
  const lines = await summary(invocation)
  for (const line of lines ?? []) terminal.line(line)
  if (lines !== undefined && includes("model")) await offerTestTurn(invocation)
  terminal.line('Done. Try it with `hermes -z "say hello"`, talk with `hermes`; `hermes doctor` checks everything.')
  return 0
}

/** How to set what a section asks for, without its questions; undefined for the model. */
function settingsOf(section: string | undefined): readonly string[] | undefined {
  if (section === "tools") return [WITHOUT_TOOLS_SCREEN]
  const groups = section === "terminal" ? TERMINAL_QUESTIONS : section === "agent" ? AGENT_QUESTIONS : undefined
  if (groups === undefined) return undefined
  const commands = groups.flat().map(({ setting }) => `  hermes config set ${setting} VALUE`)
  return [`\`hermes setup ${section}\` needs a terminal. Without one, set the values directly:`, ...commands]
}

const WITHOUT_TOOLS_SCREEN =
  "`hermes setup tools` needs a terminal. Without one, use `hermes tools enable NAME` and `hermes tools disable NAME`."

async function resetSettings(invocation: Invocation): Promise<void> {
  const answer = await invocation.terminal.confirm("Start from the defaults? Your settings are replaced.")
  if (answer === true) valueOrCliError(await resetConfig(homeContext(invocation)))
}

/** Describes what a session would use now; undefined while no model is configured. */
async function summary(invocation: Invocation): Promise<readonly string[] | undefined> {
  const home = await loadHome(homeContext(invocation))
  const model = modelFacts(home)
  if (model.kind === "unusable" || model.demo) return undefined
  return [
    `Model        ${model.model} (${model.provider}), key: ${model.keySource}`,
    `Commands     ${home.config.get("terminal.backend")}`,
    `Permissions  ${configuredProfile(home.config)}`,
  ]
}

/** Asks for provider, key and model, as `hermes model` does. `from` names a provider or the address of a server. */
export async function askModel(invocation: Invocation, from?: string): Promise<void> {
  const { terminal, signal } = invocation
  const home = await loadHome(homeContext(invocation))
  const logIn = loginPrompt(invocation, DEFAULT_LOGIN_FLAGS)
  await chooseInteractively({ home, terminal, signal, logIn, ...(from === undefined ? {} : { from }) })
}
