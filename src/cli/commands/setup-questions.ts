import type { HomeContext } from "../../admin/home-context.ts"
import { setSetting } from "../../admin/settings/edit-settings.ts"
import { loadSettings } from "../../admin/settings/load-settings.ts"
import { fail } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import type { Config } from "../../config/load-config.ts"
import { settingOf, type SettingKey } from "../../config/settings.ts"
import { isPermissionProfile, PERMISSION_PROFILES } from "../../policy/permission-profile.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import type { Terminal } from "../terminal/terminal.ts"

/** A setting that `hermes setup` asks for. */
interface Question {
  readonly setting: SettingKey
  readonly label: string
  readonly current: (config: Config) => string
  /** Returns what is wrong with an answer that the setting itself would accept. */
  readonly findProblem?: (answer: string) => string | undefined
  readonly when?: (config: Config) => boolean
}

export const TERMINAL_QUESTIONS: readonly Question[] = [
  {
    setting: "terminal.backend",
    label: "Where commands run",
    current: (config) => config.get("terminal.backend"),
  },
  {
    setting: "terminal.sandbox",
    label: "Run commands on this machine in a sandbox",
    current: (config) => config.get("terminal.sandbox"),
    when: (config) => config.get("terminal.backend") === "local",
  },
  {
    setting: "terminal.docker_image",
    label: "Image",
    current: (config) => config.get("terminal.docker_image"),
    when: (config) => config.get("terminal.backend") === "docker",
  },
  {
    setting: "terminal.ssh_host",
    label: "Host",
    current: (config) => config.get("terminal.ssh_host"),
    when: (config) => config.get("terminal.backend") === "ssh",
  },
  {
    setting: "terminal.ssh_user",
    label: "User there",
    current: (config) => config.get("terminal.ssh_user"),
    when: (config) => config.get("terminal.backend") === "ssh",
  },
]

export const AGENT_QUESTIONS: readonly Question[] = [
  {
    setting: "agent.max_turns",
    label: "Model calls one request may use",
    current: (config) => String(config.get("agent.max_turns")),
    findProblem: (answer) => (/^[1-9]\d*$/.test(answer) ? undefined : "enter a whole number above zero"),
  },
  {
    setting: "compression.enabled",
    label: "Shorten long conversations automatically: yes, no",
    current: (config) => (config.get("compression.enabled") ? "yes" : "no"),
  },
  {
    setting: "approvals.profile",
    label: `Permissions: ${PERMISSION_PROFILES.join(", ")}`,
    current: (config) => config.get("approvals.profile") ?? "default",
    findProblem: (answer) => (isPermissionProfile(answer) ? undefined : `there is no permission profile "${answer}"`),
  },
]

/** Asks one question after the other and saves each answer at once. An empty answer keeps the value, after an invalid one the question is repeated, and Ctrl+D ends. */
export async function askQuestions(questions: readonly Question[], invocation: Invocation): Promise<void> {
  const context = homeContext(invocation)
  for (const question of questions) {
    const { config } = await loadSettings(context)
    if (question.when?.(config) === false) continue
    if (!(await askOne(question, { context, config, terminal: invocation.terminal }))) return
  }
}

async function askOne(
  { setting, label, current, findProblem }: Question,
  prompt: { readonly context: HomeContext; readonly config: Config; readonly terminal: Terminal },
): Promise<boolean> {
  const { context, config, terminal } = prompt
  const values = settingOf(setting).values ?? []
  const choices = values.length === 0 ? "" : `: ${values.join(", ")}`
  for (;;) {
    const answer = (await terminal.ask(`${label}${choices} [${current(config)}]: `))?.trim()
    if (answer === undefined) return false
    if (answer === "") return true
    const problem = findProblem?.(answer)
    const edited = problem === undefined ? await setSetting(context, setting, answer) : fail({ message: problem })
    if (edited.ok) {
      for (const warning of edited.value.warnings) terminal.errLine(asSentence(warning))
      return true
    }
    terminal.errLine(asSentence(edited.error.message))
  }
}
