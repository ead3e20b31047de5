import type { CompletionNode, CompletionSource } from "./completion-nodes.ts"

/**
 * Renders the nodes as a function for both bash and zsh. It sets `subs` (command words), `flags` (all spellings), `values`
 * (`spelling=source` for flags with a value) and `args` (the source for other words). A source is empty for no suggestions, `@a,b`
 * for fixed words, or the name of a dynamic kind.
 */
export function renderShellTable(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map((node) => {
    const spellings = (flag: CompletionNode["flags"][number]): readonly string[] => [
      `--${flag.long}`,
      ...(flag.short === undefined ? [] : [`-${flag.short}`]),
    ]
    const subs = node.commands.flatMap((command) => command.words).join(" ")
    const flags = node.flags.flatMap(spellings).join(" ")
    const values = node.flags.flatMap((flag) => {
      const { value } = flag
      return value === undefined ? [] : spellings(flag).map((spelling) => `${spelling}=${encodeSource(value)}`)
    })
    const patterns = node.spellings.map((spelling) => `'${spelling}'`).join("|")
    return `    ${patterns}) subs='${subs}'; flags='${flags}'; values='${values.join(" ")}'; args='${encodeSource(node.argument)}' ;;`
  })
  return ["_hermes_node() {", '  case "$1" in', ...cases, "  esac", "}"].join("\n")
}

function encodeSource(source: CompletionSource): string {
  if (source.kind === "words") return `@${source.words.join(",")}`
  return source.kind === "dynamic" ? source.completion : ""
}
