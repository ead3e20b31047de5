import { setFromText } from "../../config/edit.ts"
import type { Config } from "../../config/load.ts"
import { settingOf, type SettingKey } from "../../config/settings.ts"
import { isPermissionProfile, PERMISSION_PROFILES } from "../../policy/permission-profile.ts"
import type { Invocation } from "../command.ts"
import { asSentence } from "../sentence.ts"
import { loadSettings } from "../settings-access.ts"

/** A setting that `hermes setup` asks for. */
interface Question {
  readonly setting: SettingKey
  readonly asks: string
  readonly current: (config: Config) => string
  /** What is wrong with an answer, beyond what the setting itself refuses. */
  readonly refuses?: (answer: string) => string | undefined
  readonly when?: (config: Config) => boolean
}

export const TERMINAL_QUESTIONS: readonly Question[] = [
  {
    setting: "terminal.backend",
    asks: "Where commands run",
    current: (config) => config.get("terminal.backend"),
  },
  {
    setting: "terminal.sandbox",
    asks: "Shut commands on this machine into a sandbox",
    current: (config) => config.get("terminal.sandbox"),
    when: (config) => config.get("terminal.backend") === "local",
  },
  {
    setting: "terminal.docker_image",
    asks: "Image",
    current: (config) => config.get("terminal.docker_image"),
    when: (config) => config.get("terminal.backend") === "docker",
  },
  {
    setting: "terminal.ssh_host",
    asks: "Host",
    current: (config) => config.get("terminal.ssh_host"),
    when: (config) => config.get("terminal.backend") === "ssh",
  },
  {
    setting: "terminal.ssh_user",
    asks: "User there",
    current: (config) => config.get("terminal.ssh_user"),
    when: (config) => config.get("terminal.backend") === "ssh",
  },
]

export const AGENT_QUESTIONS: readonly Question[] = [
  {
    setting: "agent.max_turns",
    asks: "Model calls one request may use",
    current: (config) => String(config.get("agent.max_turns")),
    refuses: (answer) => (/^[1-9]\d*$/.test(answer) ? undefined : "give a whole number above zero"),
  },
  {
    setting: "compression.enabled",
    asks: "Shorten long conversations by themselves: yes, no",
    current: (config) => (config.get("compression.enabled") ? "yes" : "no"),
  },
  {
    setting: "approvals.profile",
    asks: `Permissions: ${PERMISSION_PROFILES.join(", ")}`,
    current: (config) => config.get("approvals.profile") ?? "default",
    refuses: (answer) => (isPermissionProfile(answer) ? undefined : `there is no permission profile "${answer}"`),
  },
]

/** Asks one after the other; an empty answer keeps what is, a wrong one is asked for again, Ctrl+D ends. Each is saved at once. */
export async function askQuestions(questions: readonly Question[], invocation: Invocation): Promise<void> {
  const { home, environment: inherited } = invocation
  for (const question of questions) {
    const settings = await loadSettings({ home, environment: inherited })
    if (question.when?.(settings.config) === false) continue
    if (!(await askOne(question, { ...invocation, ...settings }))) return
  }
}

async function askOne(
  { setting, asks, current, refuses }: Question,
  place: Pick<Invocation, "terminal" | "home" | "environment"> & { readonly config: Config },
): Promise<boolean> {
  const { terminal, config } = place
  const values = settingOf(setting).values ?? []
  const choices = values.length === 0 ? "" : `: ${values.join(", ")}`
  for (;;) {
    const answer = (await terminal.ask(`${asks}${choices} [${current(config)}]: `))?.trim()
    if (answer === undefined) return false
    if (answer === "") return true
    const wrong = refuses?.(answer)
    const edited = wrong === undefined ? await setFromText(place, setting, answer) : undefined
    if (edited?.ok === true) {
      for (const warning of edited.value.warnings) terminal.errLine(asSentence(warning))
      return true
    }
    terminal.errLine(asSentence(wrong ?? edited?.error.message ?? ""))
  }
}
