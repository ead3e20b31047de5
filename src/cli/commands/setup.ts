import { copyFileSync, existsSync } from "node:fs"
import { systemClock } from "../../base/clock.ts"
import { fileTimestamp } from "../../config/config-file.ts"
import { saveConfig } from "../../config/edit.ts"
import { ensureHome } from "../../config/home.ts"
import { storedProviders } from "../../config/stored-logins.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import { CliError, type Invocation } from "../command.ts"
import { granted, loadSettings } from "../settings-access.ts"
import { USUAL_LOGIN } from "./auth/log-in.ts"
import { chooseInteractively } from "./model/choose.ts"
import { loginAt, WITHOUT_A_TERMINAL } from "./model/model.ts"
import { AGENT_QUESTIONS, askQuestions, TERMINAL_QUESTIONS } from "./setup-questions.ts"

const SECTIONS = ["model", "terminal", "agent"]

/** `hermes setup`: the questions a new person needs, each with the current value; what was answered before Ctrl+C stays. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, environment } = invocation
  const [section] = positionals
  if (section !== undefined && !SECTIONS.includes(section)) {
    throw new CliError(`\`hermes setup ${section}\` is not part of this release yet`, { exitCode: 1 })
  }
  ensureHome(home, environment)
  if (flags.has("non-interactive") || !terminal.stdinIsTty) {
    const ready = await summary(invocation)
    for (const line of ready ?? WITHOUT_A_TERMINAL) terminal.errLine(line)
    return flags.has("non-interactive") ? 0 : 1
  }
  keepCopy(invocation)
  if (flags.has("reset")) await resetSettings(invocation)
  const wants = (name: string): boolean => (section ?? name) === name
  if (wants("model") && !(flags.has("quick") && (await summary(invocation)) !== undefined)) await askModel(invocation)
  if (wants("terminal") && !flags.has("quick")) await askQuestions(TERMINAL_QUESTIONS, invocation)
  if (wants("agent") && !flags.has("quick")) await askQuestions(AGENT_QUESTIONS, invocation)
  for (const line of (await summary(invocation)) ?? []) terminal.line(line)
  terminal.line('Done. Try it with `hermes -z "say hello"`, talk with `hermes`; `hermes doctor` checks everything.')
  return 0
}

/** Whoever answers wrongly can go back by hand. */
function keepCopy({ home, terminal }: Invocation): void {
  const path = home.file("config.yaml")
  if (!existsSync(path)) return
  const copy = `${path}.bak.${fileTimestamp(systemClock.now())}`
  copyFileSync(path, copy)
  terminal.errLine(`The settings so far are kept in ${home.display(copy)}.`)
}

async function resetSettings({ terminal, home, environment }: Invocation): Promise<void> {
  if ((await terminal.confirm("Start from the defaults? Your settings are replaced.")) !== true) return
  granted(await saveConfig({ home, environment }, {}))
}

/** What a run would use now; undefined while there is no model. */
async function summary({ home, environment }: Invocation): Promise<readonly string[] | undefined> {
  const settings = await loadSettings({ home, environment })
  const chosen = chooseModel({}, { ...settings, stored: storedProviders(home) })
  if (!chosen.ok || chosen.value.demoByDefault) return undefined
  const { model, provider, credentialSource } = chosen.value.runtime
  const { config } = settings
  return [
    `Model        ${model} (${provider}), key: ${credentialSource}`,
    `Commands     ${config.get("terminal.backend")}`,
    `Permissions  ${config.get("approvals.profile") ?? "default"}`,
  ]
}

/** Asks for provider, key and model, as `hermes model` does. */
export async function askModel(invocation: Invocation): Promise<void> {
  const { home, environment, terminal, signal } = invocation
  const settings = await loadSettings({ home, environment })
  await chooseInteractively({ home, terminal, signal, ...settings, logIn: loginAt(invocation, USUAL_LOGIN) })
}
