import type { CompletionNode, CompletionSource } from "./completion-nodes.ts"

/** A script for fish: `hermes completion fish > ~/.config/fish/completions/hermes.fish`. */
export function renderFish(nodes: readonly CompletionNode[]): string {
  return [
    "# Completion of hermes for fish. Made by: hermes completion fish",
    "function __hermes_place",
    "    set -l place ''",
    "    set -l waiting ''",
    "    for word in (commandline -opc)[2..-1]",
    "        if test -n \"$waiting\"; and not string match -q -- '-*' $word",
    "            set waiting ''",
    "            continue",
    "        end",
    "        set waiting ''",
    '        switch "$place|$word"',
    ...nodes.flatMap(placeCases),
    "        end",
    "    end",
    "    echo $place",
    "end",
    "",
    "function __hermes_at",
    '    test (__hermes_place) = "$argv[1]"',
    "end",
    "",
    "function __hermes_words",
    "    command hermes completion --candidates $argv[1] 2>/dev/null",
    "end",
    "",
    "complete -c hermes -f",
    ...nodes.flatMap(offers),
    "",
  ].join("\n")
}

/** How a word moves from one place to the next, and which flags take the word after them. */
function placeCases(node: CompletionNode): readonly string[] {
  const [here = ""] = node.spellings
  const steps = node.commands.flatMap((command) => {
    const patterns = command.words.map((word) => `'${here}|${word}'`).join(" ")
    return [`            case ${patterns}`, `                set place '${`${here} ${command.words[0] ?? ""}`.trim()}'`]
  })
  const takers = node.flags
    .filter((flag) => flag.value !== undefined)
    .flatMap((flag) => [`'${here}|--${flag.long}'`, ...(flag.short === undefined ? [] : [`'${here}|-${flag.short}'`])])
  return takers.length === 0
    ? steps
    : [...steps, `            case ${takers.join(" ")}`, "                set waiting 1"]
}

function offers(node: CompletionNode): readonly string[] {
  const condition = `-n '__hermes_at "${node.spellings[0] ?? ""}"'`
  const commands = node.commands.map(
    (command) => `complete -c hermes ${condition} -a '${command.words[0] ?? ""}' -d '${quote(command.summary)}'`,
  )
  const flags = node.flags.map((flag) => {
    const short = flag.short === undefined ? "" : ` -s ${flag.short}`
    const value = flag.value === undefined ? "" : ` -r${sourceOption(flag.value)}`
    return `complete -c hermes ${condition} -l ${flag.long}${short}${value} -d '${quote(flag.summary)}'`
  })
  const argument = sourceOption(node.argument)
  return [...commands, ...flags, ...(argument === "" ? [] : [`complete -c hermes ${condition}${argument}`])]
}

function sourceOption(source: CompletionSource): string {
  if (source.kind === "nothing") return ""
  if (source.kind === "words") return ` -a '${source.words.join(" ")}'`
  if (source.completion === "file") return " -F"
  if (source.completion === "directory") return " -a '(__fish_complete_directories)'"
  return ` -a '(__hermes_words ${source.completion})'`
}

function quote(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")
}
