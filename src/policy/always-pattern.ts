import type { PolicyRequest } from "./policy-request.ts"
import { escapeGlob } from "./rules/glob.ts"
import { parsePattern } from "./rules/parse-pattern.ts"
import { inDirectory } from "./rules/permission-rules.ts"
import type { RulePattern } from "./rules/permission-rules.ts"

const MAX_OFFERED_CHARS = 500

/**
 * The pattern that "always" saves: it matches exactly this call, and a command only in its directory. Undefined where no pattern describes the call: its text is not
 * understood, depends on what earlier commands defined, or there is nothing to bind it to.
 */
export function alwaysPattern(request: PolicyRequest): RulePattern | undefined {
  const argument = exactArgument(request)
  if (argument === undefined || argument.length > MAX_OFFERED_CHARS || /[\n\r]/u.test(argument)) return undefined
  const parsed = parsePattern(`${request.tool}:${argument}`)
  if (!parsed.ok || parsed.value.argument === undefined) return undefined
  if (request.commands.length === 0) return parsed.value
  // What a command does depends on where it starts, and the question showed one directory.
  return request.startDirectory === undefined ? undefined : inDirectory(parsed.value, request.startDirectory)
}

/** A sentence about what else the rule of "always" allows, beyond the call that the question shows. */
export function alwaysScope({ commands, subjects, tool, startDirectory }: PolicyRequest): string | undefined {
  if (commands.length > 0)
    return startDirectory === undefined ? undefined : `It applies to commands that start in ${startDirectory}.`
  switch (subjects[0]?.kind) {
    case "path":
      return `It applies to this path in every conversation, with any content.`
    case "target":
      return "It applies to this recipient in every conversation, with any text."
    case "url":
      return "It applies to this address in every conversation, with any data."
    case "name":
      return `It applies to every call of ${tool} with this name, whatever its other arguments are.`
    default:
      return undefined
  }
}

function exactArgument({ commands, paths, subjects, runsCommands }: PolicyRequest): string | undefined {
  if (subjects.length !== 1) return undefined
  const [command] = commands
  if (command !== undefined) {
    const { understood } = command.verdict
    const depends = understood.commands.some(({ source }) => source === "function" || source === "alias")
    const isPlain = runsCommands && understood.doubts.length === 0 && !depends
    return isPlain ? escapeGlob(command.line.trim().replaceAll(/[ \t]+/gu, " ")) : undefined
  }
  const [path] = paths
  if (path !== undefined) return path.literal === path.real ? escapeGlob(path.literal) : undefined
  const [subject] = subjects
  switch (subject?.kind) {
    case "url":
      return escapeGlob(subject.url)
    case "target":
      return escapeGlob(subject.target)
    case "name":
      return escapeGlob(subject.name)
    default:
      return undefined
  }
}
