import { copyFileSync, existsSync } from "node:fs"
import { systemClock } from "../../base/clock.ts"
import { fileTimestamp } from "../../config/config-file.ts"
import { editConfig, saveConfig } from "../../config/edit.ts"
import { ensureHome } from "../../config/home.ts"
import { storedProviders } from "../../config/stored-logins.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import { isPermissionProfile, PERMISSION_PROFILES } from "../../policy/decide.ts"
import { CliError, type Invocation } from "../command.ts"
import { granted, loadSettings } from "../settings-access.ts"
import { USUAL_LOGIN } from "./auth/log-in.ts"
import { chooseInteractively } from "./model/choose.ts"
import { loginAt, WITHOUT_A_TERMINAL } from "./model/model.ts"

const SECTIONS = ["model", "agent"]

/** `hermes setup`: the questions a new person needs, each with the current value; what was answered before Ctrl+C stays. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, environment } = invocation
  const [section] = positionals
  if (section !== undefined && !SECTIONS.includes(section)) {
    throw new CliError(`\`hermes setup ${section}\` is not part of this release yet`, { exitCode: 1 })
  }
  ensureHome(home, environment)
  if (flags.has("non-interactive") || !terminal.stdinIsTty) {
    for (const line of WITHOUT_A_TERMINAL) terminal.errLine(line)
    return flags.has("non-interactive") ? 0 : 1
  }
  keepCopy(invocation)
  if (flags.has("reset")) await resetSettings(invocation)
  if (section !== "agent" && !(flags.has("quick") && (await hasModel(invocation)))) await askModel(invocation)
  if (section !== "model" && !flags.has("quick")) await askAgent(invocation)
  terminal.line("Done. Start talking with `hermes`; `hermes doctor` checks everything.")
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

async function hasModel({ home, environment }: Invocation): Promise<boolean> {
  const settings = await loadSettings({ home, environment })
  const chosen = chooseModel({}, { ...settings, stored: storedProviders(home) })
  return chosen.ok && !chosen.value.demoByDefault
}

async function askModel(invocation: Invocation): Promise<void> {
  const { home, environment, terminal, signal } = invocation
  const settings = await loadSettings({ home, environment })
  await chooseInteractively({ home, terminal, signal, ...settings, logIn: loginAt(invocation, USUAL_LOGIN) })
}

async function askAgent({ home, environment, terminal }: Invocation): Promise<void> {
  const { config } = await loadSettings({ home, environment })
  const turns = await terminal.ask(`Model calls one request may use [${config.get("agent.max_turns")}]: `)
  const wanted = Number(turns?.trim() ?? "")
  if (Number.isInteger(wanted) && wanted > 0) {
    granted(await editConfig({ home, environment }, [{ path: "agent.max_turns", value: wanted }]))
  }
  const current = config.get("approvals.profile") ?? "default"
  const profile = (await terminal.ask(`Permissions: ${PERMISSION_PROFILES.join(", ")} [${current}]: `))?.trim() ?? ""
  if (profile === "") return
  if (!isPermissionProfile(profile)) throw new CliError(`there is no permission profile "${profile}"`, { exitCode: 2 })
  granted(await editConfig({ home, environment }, [{ path: "approvals.profile", value: profile }]))
}
