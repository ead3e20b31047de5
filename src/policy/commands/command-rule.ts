import type { CommandFinding, Effect, FindingLevel } from "./command-verdict.ts"
import type { Invocation } from "./invocation.ts"

/** A row of the tables of dangerous commands. */
export interface CommandRule {
  /** The grant key. */
  readonly key: string
  /** Names of programs in lower case; `*` means every command. */
  readonly programs: readonly string[]
  /** `ask` when it is missing. */
  readonly level?: FindingLevel
  readonly when: (call: Invocation) => boolean
  /** A verb phrase that follows the text of the command. */
  readonly does: string
  readonly effects: readonly Effect[] | ((call: Invocation) => readonly Effect[])
  /** Applies to a command on another machine or in a container as well. */
  readonly remote?: true
}

export interface RuleIndex {
  readonly byProgram: ReadonlyMap<string, readonly CommandRule[]>
  readonly everywhere: readonly CommandRule[]
}

/** Sorts rules by program, so that a command is compared with a few of them only. */
export function indexRules(rules: readonly CommandRule[]): RuleIndex {
  const byProgram = new Map<string, CommandRule[]>()
  const everywhere: CommandRule[] = []
  for (const rule of rules) {
    for (const program of rule.programs) {
      if (program === "*") everywhere.push(rule)
      else byProgram.set(program, [...(byProgram.get(program) ?? []), rule])
    }
  }
  return { byProgram, everywhere }
}

export function findRules(call: Invocation, index: RuleIndex): readonly CommandFinding[] {
  const found: CommandFinding[] = []
  const isRemote = call.command.source === "remote"
  const own = index.byProgram.get(call.program)
  // Most rules do not apply, and this runs for every command: no lists are built.
  if (own !== undefined) for (const rule of own) if (applies(rule)) found.push(finding(rule, call))
  if (!call.isWrapper) for (const rule of index.everywhere) if (applies(rule)) found.push(finding(rule, call))
  return found

  function applies(rule: CommandRule): boolean {
    return (!isRemote || rule.remote === true) && rule.when(call)
  }
}

function finding(rule: CommandRule, call: Invocation): CommandFinding {
  return {
    level: rule.level ?? "ask",
    key: rule.key,
    description: `${shownText(call)} ${rule.does}`,
    view: "argv",
    effects: effectsOf(rule, call),
  }
}

/** The sandbox of this machine does not confine what runs on another one or in a container. */
function effectsOf(rule: CommandRule, call: Invocation): readonly Effect[] {
  if (call.command.source === "remote" && !call.isWrapper) return PERSON
  return typeof rule.effects === "function" ? rule.effects(call) : rule.effects
}

/** The part of the line that a finding is about. */
export function shownText(call: Invocation): string {
  const { text: own, wholeText, redirections } = call.command
  const named = call.isWrapper ? wholeText : own || wholeText
  // `> file` has no program.
  const text = named || redirections.map(({ operator, target }) => `${operator} ${target.text}`).join(" ")
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

const MAX_SHOWN = 120

export const PERSON: readonly Effect[] = [{ kind: "person" }]
export const CODE: readonly Effect[] = [{ kind: "code" }]
export const SYSTEM: readonly Effect[] = [{ kind: "system" }]
export const PRIVILEGES: readonly Effect[] = [{ kind: "privileges" }]
