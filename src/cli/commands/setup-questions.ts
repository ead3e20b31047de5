import { setSetting } from "../../admin/settings/edit-settings.ts"
import { loadSettings } from "../../admin/settings/load-settings.ts"
import { fail } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import { checkText } from "../../config/edit-config.ts"
import type { Config } from "../../config/load-config.ts"
import { settingOf, type SettingKey } from "../../config/settings.ts"
import { PERMISSION_PROFILES } from "../../config/permission-profiles.ts"
import { configuredProfile } from "../../policy/permission-profile.ts"
import type { Invocation } from "../command.ts"
import { mayLoosenProtection } from "./config/confirm-lost-protection.ts"
import { homeContext } from "../home-context.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** A setting that `hermes setup` asks for. */
interface Question {
  readonly setting: SettingKey
  readonly label: string
  readonly current: (config: Config) => string
  /** Returns what is wrong with an answer that the setting itself would accept. */
  readonly findProblem?: (answer: string) => string | undefined
  /** Asked only after this answer to an earlier question of the group. */
  readonly when?: { readonly setting: SettingKey; readonly value: string }
}

/** Questions that make sense only together: their answers are saved after the last one, or not at all. */
type QuestionGroup = readonly Question[]

export const TERMINAL_QUESTIONS: readonly QuestionGroup[] = [
  [
    {
      setting: "terminal.backend",
      label: "Where commands run",
      current: (config) => config.get("terminal.backend"),
    },
    {
      setting: "terminal.sandbox",
      label: "Run commands on this machine in a sandbox",
      current: (config) => config.get("terminal.sandbox"),
      when: { setting: "terminal.backend", value: "local" },
    },
    {
      setting: "terminal.docker_image",
      label: "Image",
      current: (config) => config.get("terminal.docker_image"),
      when: { setting: "terminal.backend", value: "docker" },
    },
    {
      setting: "terminal.ssh_host",
      label: "Host",
      current: (config) => config.get("terminal.ssh_host"),
      when: { setting: "terminal.backend", value: "ssh" },
    },
    {
      setting: "terminal.ssh_user",
      label: "User there",
      current: (config) => config.get("terminal.ssh_user"),
      when: { setting: "terminal.backend", value: "ssh" },
    },
  ],
]

export const AGENT_QUESTIONS: readonly QuestionGroup[] = [
  [
    {
      setting: "agent.max_turns",
      label: "Rounds of tool calls that one request may use",
      current: (config) => String(config.get("agent.max_turns")),
      findProblem: (answer) => (/^[1-9]\d*$/.test(answer) ? undefined : "enter a whole number above zero"),
    },
  ],
  [
    {
      setting: "compression.enabled",
      label: "Shorten long conversations automatically: yes, no",
      current: (config) => (config.get("compression.enabled") ? "yes" : "no"),
    },
  ],
  [
    {
      setting: "approvals.profile",
      label: `Permissions: ${PERMISSION_PROFILES.join(", ")}`,
      current: (config) => configuredProfile(config),
      findProblem: (answer) =>
        PERMISSION_PROFILES.some((name) => name === answer) ? undefined : `there is no permission profile "${answer}"`,
    },
  ],
]

/**
 * Asks one question after the other and saves the answers of each group together. An empty answer keeps the value, after an invalid one
 * the question is repeated, and Ctrl+D ends.
 */
export async function askQuestions(groups: readonly QuestionGroup[], invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  const context = homeContext(invocation)
  for (const group of groups) {
    const { config } = await loadSettings(context)
    const answers = await askGroup(group, { config, terminal })
    if (answers === undefined) return
    if (!(await mayLoosenProtection(invocation, [...answers]))) continue
    for (const [setting, answer] of answers) {
      const edited = await setSetting(context, setting, answer)
      const messages = edited.ok ? edited.value.warnings : [edited.error.message]
      for (const message of messages) terminal.errLine(asSentence(message))
    }
  }
}

interface Prompt {
  readonly config: Config
  readonly terminal: Terminal
}

/** Returns the new values; undefined when the input ended before the last question. */
async function askGroup(group: QuestionGroup, prompt: Prompt): Promise<ReadonlyMap<SettingKey, string> | undefined> {
  const answers = new Map<SettingKey, string>()
  for (const question of group) {
    const { when, setting } = question
    if (when !== undefined && (answers.get(when.setting) ?? prompt.config.get(when.setting)) !== when.value) {
      continue
    }
    const answer = await askOne(question, prompt)
    if (answer === undefined) return undefined
    if (answer !== "") answers.set(setting, answer)
  }
  return answers
}

async function askOne(
  { setting, label, current, findProblem }: Question,
  { config, terminal }: Prompt,
): Promise<string | undefined> {
  const values = settingOf(setting).values ?? []
  const choices = values.length === 0 ? "" : `: ${values.join(", ")}`
  for (;;) {
    const answer = (await terminal.ask(`${label}${choices} [${current(config)}]: `))?.trim()
    if (answer === undefined || answer === "") return answer
    const problem = findProblem?.(answer)
    const checked = problem === undefined ? checkText(setting, answer, config.user()) : fail({ message: problem })
    if (checked.ok) return answer
    terminal.errLine(asSentence(checked.error.message))
  }
}
