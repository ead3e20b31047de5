import { posix } from "node:path"
import { stripAnsi } from "../../base/strip-ansi.ts"
import type { Redirection, ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"

/** One program with its arguments, as rules look at it. A wrapper such as `sudo` is an invocation of its own. */
export interface Invocation {
  /** Lower case, without its directory. Empty for a command that consists of assignments and redirections. */
  readonly program: string
  readonly words: readonly ShellWord[]
  /** Options before `--`. */
  readonly flags: readonly string[]
  readonly operands: readonly ShellWord[]
  /** See `subcommands`. */
  readonly subcommands: readonly string[]
  readonly command: SimpleCommand
  readonly isWrapper: boolean
  readonly understood: UnderstoodCommand
  readonly facts: CommandFacts
}

/** Every program of a command: the command itself and what starts it. */
export function invocations(
  command: SimpleCommand,
  understood: UnderstoodCommand,
  facts: CommandFacts,
): readonly Invocation[] {
  const own = invocation(command.argv, command.program ?? command.argv[0]?.text ?? "")
  return [own, ...command.wrappers.map((wrapper) => invocation(wrapper.argv, wrapper.program, true))]

  function invocation(argv: readonly ShellWord[], program: string, isWrapper = false): Invocation {
    const words = argv.slice(1)
    const end = words.findIndex(({ text }) => text === "--")
    const beforeEnd = end === -1 ? words : words.slice(0, end)
    const name = programName(program)
    return {
      program: name,
      words,
      subcommands: plainWords(words, OPTIONS_WITH_VALUE[name] ?? NO_OPTIONS),
      flags: beforeEnd.filter(isFlag).map(({ text }) => text),
      operands: [...beforeEnd.filter((word) => !isFlag(word)), ...(end === -1 ? [] : words.slice(end + 1))],
      command,
      isWrapper,
      understood,
      facts,
    }
  }
}

/** A shell would not find a program with terminal sequences or look-alike letters in its name; the user would read it as the plain one. */
export function programName(program: string): string {
  // Runs for every command, and most names are plain.
  const name = PLAIN_NAME.test(program) ? program : posix.basename(stripAnsi(program).normalize("NFKC")).toLowerCase()
  return VERSIONED.test(name) ? name.replace(VERSION, "") : name
}

/** `python3.12` is python3, `ruby3.2` is ruby. */
const VERSIONED = /^(?:(?:python|pip|pypy)[23]?(?:\.\d+)+|(?:ruby|perl|php|lua|node|nodejs)-?\d[\d.]*)$/u
const VERSION = /(?<=^(?:python|pip|pypy)[23]?)(?:\.\d+)+$|(?<=^(?:ruby|perl|php|lua|node|nodejs))-?\d[\d.]*$/u

const PLAIN_NAME = /^[a-z0-9_+-][a-z0-9._+-]*$/u

function isFlag({ text }: ShellWord): boolean {
  return text.length > 1 && text.startsWith("-")
}

/** The words that are not options, without the values of options: `git -C dir reset --hard` gives `reset`. */
export function subcommands(call: Invocation): readonly string[] {
  return call.subcommands
}

function plainWords(words: readonly ShellWord[], valued: ReadonlySet<string>): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < words.length; index += 1) {
    const text = words[index]?.text ?? ""
    if (valued.has(text)) index += 1
    else if (!text.startsWith("-")) found.push(text)
  }
  return found
}

/** The value of an option, as the next word or behind `=`; for a short option also without a space, or behind others that are packed with it. */
export function optionValues(call: Pick<Invocation, "words">, ...names: readonly string[]): readonly ShellWord[] {
  const found: ShellWord[] = []
  // Runs for most commands, few of which have the option: no callback is created for a word that is none.
  for (const [index, word] of call.words.entries()) {
    if (!word.text.startsWith("-")) continue
    const name = names.find((option) => word.text === option || startsWithValue(word.text, option))
    const next = call.words[index + 1]
    if (name !== undefined && word.text !== name) {
      const value = word.text.slice(name.length)
      found.push({ ...word, text: name.startsWith("--") ? value.slice(1) : value })
    } else if (next !== undefined && (name !== undefined || endsPacked(word.text, names))) found.push(next)
  }
  return found
}

/**
 * The values of short options, also of packed ones: `-so FILE`, `-soFILE`. Which letters take a value differs by program, so a value may be found
 * that is none; it must be harmless to take it for one.
 */
export function packedValues(call: Invocation, letters: string): readonly ShellWord[] {
  return call.words.flatMap((word, index) => {
    if (!word.text.startsWith("-")) return []
    const packed = /^-([A-Za-z0-9#:].*)$/su.exec(word.text)?.[1]
    const at = packed === undefined ? -1 : Array.from(packed).findIndex((letter) => letters.includes(letter))
    if (packed === undefined || at === -1) return []
    return at === packed.length - 1 ? (call.words[index + 1] ?? []) : { ...word, text: packed.slice(at + 1) }
  })
}

/** `-xI PROGRAM`: the last of several packed options takes the next word. */
function endsPacked(text: string, names: readonly string[]): boolean {
  return /^-[A-Za-z]{2,6}$/u.test(text) && names.includes(`-${text.at(-1) ?? ""}`)
}

function startsWithValue(text: string, option: string): boolean {
  return option.startsWith("--") ? text.startsWith(`${option}=`) : option.length === 2 && text.startsWith(option)
}

export function hasFlag(call: Invocation, pattern: RegExp): boolean {
  return call.flags.some((flag) => pattern.test(flag))
}

export function isOutput({ operator }: Redirection): boolean {
  return operator !== "<" && operator !== "<&"
}

/** The commands whose output a command reads through its pipeline, nearest first. */
export function upstream(command: SimpleCommand, understood: UnderstoodCommand): readonly SimpleCommand[] {
  const found: SimpleCommand[] = []
  let current: SimpleCommand | undefined = command
  while (current?.input?.kind === "command" && found.length < MAX_PIPELINE) {
    current = understood.commands[current.input.index]
    if (current !== undefined) found.push(current)
  }
  return found
}

const MAX_PIPELINE = 50
const NO_OPTIONS: ReadonlySet<string> = new Set()

const optionSet = (names: string): ReadonlySet<string> => new Set(names.split(" "))
const KUBERNETES = optionSet("-n --namespace --context --kubeconfig --cluster --user -s --server")
const CONTAINERS = optionSet(
  "-H --host --context -c --config -l --log-level --connection --url -f --file -p --project-name",
)

const OPTIONS_WITH_VALUE: Readonly<Record<string, ReadonlySet<string>>> = {
  git: optionSet("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env"),
  kubectl: KUBERNETES,
  oc: KUBERNETES,
  helm: optionSet("-n --namespace --kube-context --kubeconfig"),
  docker: CONTAINERS,
  podman: CONTAINERS,
  nerdctl: CONTAINERS,
  "docker-compose": optionSet("-f --file -p --project-name --profile --env-file --project-directory"),
  systemctl: optionSet(
    "-H --host -M --machine -t --type --state -p --property -n --lines -o --output --root -s --signal",
  ),
  npm: optionSet("--prefix -w --workspace -C"),
  pnpm: optionSet("--filter -F -C --dir"),
  yarn: optionSet("--cwd"),
  gh: optionSet("-R --repo"),
  aws: optionSet("--profile --region --output --endpoint-url --query"),
  gcloud: optionSet("--project --account --configuration --format"),
  hermes: optionSet("-p --profile -m --model --provider --cwd --permission-profile --allow --deny"),
}
