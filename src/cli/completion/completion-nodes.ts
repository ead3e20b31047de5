import { isCommandAvailable } from "../command-line/command-lookup.ts"
import type { Command, CommandTree, Completion, Flag } from "../command.ts"

/** What a shell can complete after a command. */
export interface CompletionNode {
  /** All spellings of the command: names and aliases joined by spaces; one empty string for the root. */
  readonly spellings: readonly string[]
  readonly commands: readonly { readonly words: readonly string[]; readonly summary: string }[]
  readonly flags: readonly CompletionFlag[]
  /** Suggestions for the first argument. */
  readonly argument: CompletionSource
}

export interface CompletionFlag {
  readonly long: string
  readonly short: string | undefined
  readonly summary: string
  /** Undefined for a flag without a value. */
  readonly value: CompletionSource | undefined
}

export type CompletionSource =
  | { readonly kind: "nothing" }
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "dynamic"; readonly completion: Completion }

/** Returns a node for the root and each command that works in this release. */
export function completionNodes(tree: CommandTree): readonly CompletionNode[] {
  const fallback = tree.commands.find((command) => command.name === tree.defaultCommand)
  const root: CompletionNode = {
    spellings: [""],
    commands: suggestions(tree.commands),
    flags: uniqueFlags([...tree.rootFlags, ...tree.commonFlags, ...tree.runFlags, ...(fallback?.flags ?? [])]),
    argument: { kind: "nothing" },
  }
  return [
    root,
    ...tree.commands
      .filter(isCommandAvailable)
      .flatMap((command) => nodesBelow(command, { tree, spellings: [""], flags: [] })),
  ]
}

function nodesBelow(
  command: Command,
  above: { readonly tree: CommandTree; readonly spellings: readonly string[]; readonly flags: readonly Flag[] },
): readonly CompletionNode[] {
  const words = [command.name, ...(command.aliases ?? [])]
  const spellings = above.spellings.flatMap((spelling) => words.map((word) => `${spelling} ${word}`.trim()))
  const flags = [...(command.flags ?? []), ...above.flags]
  const [positional] = command.positionals ?? []
  const node: CompletionNode = {
    spellings,
    commands: suggestions(command.subcommands ?? []),
    flags: uniqueFlags([...flags, ...above.tree.commonFlags]),
    argument: source(positional ?? {}),
  }
  const below = (command.subcommands ?? []).filter(isCommandAvailable)
  const inherited = command.load === undefined ? flags : above.flags
  return [node, ...below.flatMap((entry) => nodesBelow(entry, { tree: above.tree, spellings, flags: inherited }))]
}

function suggestions(commands: readonly Command[]): CompletionNode["commands"] {
  return commands
    .filter(isCommandAvailable)
    .map((command) => ({ words: [command.name, ...(command.aliases ?? [])], summary: command.summary }))
}

/** The nearest declaration of a flag wins, as in the parser. */
function uniqueFlags(flags: readonly Flag[]): readonly CompletionFlag[] {
  const seen = new Set<string>()
  return flags.flatMap((flag) => {
    if (seen.has(flag.name) || flag.hidden === true || flag.later === true) return []
    seen.add(flag.name)
    return [{ long: flag.name, short: flag.short, summary: flag.summary, value: valueSource(flag) }]
  })
}

function valueSource(flag: Flag): CompletionSource | undefined {
  const { value } = flag
  if (value.kind === "none") return undefined
  if (value.kind === "choice") return { kind: "words", words: value.choices }
  return "complete" in value ? source(value) : { kind: "nothing" }
}

function source(from: { readonly choices?: readonly string[]; readonly complete?: Completion }): CompletionSource {
  if (from.choices !== undefined) return { kind: "words", words: from.choices }
  return from.complete === undefined ? { kind: "nothing" } : { kind: "dynamic", completion: from.complete }
}
