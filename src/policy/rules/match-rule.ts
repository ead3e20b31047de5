import { assertNever } from "../../base/assert-never.ts"
import type { SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { isWithin } from "../file-floor.ts"
import { matchesGlob, matchesPathGlob, pathComponents } from "./glob.ts"
import { START_CHARS } from "./permission-rules.ts"
import type { RuleArgument, RulePattern, ToolRule } from "./permission-rules.ts"
import type { SelectedCall } from "./selectors.ts"

/** A call as rules see it. Computed once for all rules. */
export interface MatchedCall extends SelectedCall {
  readonly commands: readonly MatchedCommand[]
  /** An `allow` rule covers a script by naming its language. */
  readonly isScript?: boolean
  readonly paths: readonly MatchedPath[]
  readonly urls: readonly string[]
  /** Queries, targets, names and the action of a tool with several. */
  readonly words: readonly string[]
  /** How every text of the call begins; absent for a call with paths or addresses, which are compared in other ways. */
  readonly starts?: ReadonlySet<string>
}

/** A path in all its forms, each split for the patterns that start at the root, the workspace and the home. */
export interface MatchedPath {
  readonly literal: PathForm
  readonly real: PathForm
  /** Without duplicates. */
  readonly forms: readonly PathForm[]
}

interface PathForm {
  readonly root: readonly (readonly string[])[]
  readonly workspace: readonly (readonly string[])[]
  readonly userHome: readonly (readonly string[])[]
}

export function matchedPath(
  { literal, real, entry = real }: { readonly literal: string; readonly real: string; readonly entry?: string },
  roots: PatternRoots,
): MatchedPath {
  const forms = new Map([...new Set([literal, real, entry])].map((path) => [path, pathForm(path, roots)]))
  const formOf = (path: string): PathForm => forms.get(path) ?? pathForm(path, roots)
  return { literal: formOf(literal), real: formOf(real), forms: [...forms.values()] }
}

function pathForm(path: string, { workspace, userHome }: PatternRoots): PathForm {
  const below = (directories: readonly string[]): readonly (readonly string[])[] =>
    [...new Set(directories)].flatMap((root) => (isWithin(path, root) ? [pathComponents(path.slice(root.length))] : []))
  return { root: [pathComponents(path)], workspace: below(workspace), userHome: below(userHome) }
}

/** One command line, with everything that patterns are compared with. */
export interface MatchedCommand {
  readonly line: string
  /** With single spaces. */
  readonly squeezed: string
  /** Whether it is known what the line runs. */
  readonly isUnderstood: boolean
  readonly parts: readonly CommandPart[]
  /** For `deny` and `ask`: the line and every command in it, in every spelling. */
  readonly texts: readonly string[]
}

interface CommandPart {
  /** With single spaces, without and with wrappers and assignments. */
  readonly text: string
  readonly whole: string
  /** Nothing changes what the command does apart from its own words. */
  readonly hasHarmlessWrappers: boolean
  /** Neither writes a file through a redirection nor changes the environment. */
  readonly isPlain: boolean
}

export function matchedCommand(line: string, { commands, doubts }: UnderstoodCommand): MatchedCommand {
  const squeezed = squeeze(line)
  return {
    line,
    squeezed,
    isUnderstood: doubts.length === 0,
    parts: commands.map(commandPart),
    texts: [...new Set([squeezed, squeeze(withoutQuotes(line)), ...commands.flatMap(commandTexts).map(squeeze)])],
  }
}

function commandPart(command: SimpleCommand): CommandPart {
  const { wrappers, assignments, redirections } = command
  const writes = redirections.some(
    ({ operator, target }) => operator.includes(">") && operator !== ">&" && target.text !== "/dev/null",
  )
  const text = squeeze(command.text)
  return {
    text,
    whole: command.wholeText === command.text ? text : squeeze(command.wholeText),
    hasHarmlessWrappers: assignments.length === 0 && wrappers.every(({ program }) => HARMLESS_WRAPPERS.has(program)),
    isPlain: !writes && assignments.length === 0,
  }
}

function commandTexts({ text, wholeText, argv }: SimpleCommand): readonly string[] {
  const program = argv[0]?.text ?? ""
  const base = program.slice(program.lastIndexOf("/") + 1)
  // Only options in front of a subcommand make a difference.
  const words = /^[-+]/u.test(argv[1]?.text ?? "") ? argv.slice(1).map((word) => word.text) : []
  const subcommands = withoutLeadingOptions(words).map((rest) => [base, ...rest].join(" "))
  // `/usr/bin/git push` and `git -C other push` are a `git push` as well.
  const spellings = text === wholeText ? [text] : [text, wholeText]
  return [...spellings, ...(base === program ? [] : [base + text.slice(program.length)]), ...subcommands]
}

/** What may follow the options in front of a subcommand; whether an option takes the next word is not known, so both are tried. */
function withoutLeadingOptions(words: readonly string[]): readonly (readonly string[])[] {
  const isOption = (index: number): boolean => /^[-+]/u.test(words[index] ?? "")
  if (!isOption(0)) return []
  const seen = new Set([0])
  for (const index of seen) {
    if (!isOption(index) || index > MOST_LEADING_WORDS) continue
    for (const next of [index + 1, index + 2]) if (next < words.length) seen.add(next)
  }
  return [...seen].filter((index) => !isOption(index)).map((index) => words.slice(index))
}

const MOST_LEADING_WORDS = 24

/** What relative and `~` patterns start from, as written and with links resolved. */
export interface PatternRoots {
  readonly workspace: readonly string[]
  readonly userHome: readonly string[]
}

/** For `deny` and `ask`: one part of the call is enough. */
export function touches({ selects, argument }: RulePattern, call: MatchedCall): boolean {
  if (argument !== undefined && beginsOtherwise(argument, call)) return false
  if (!selects(call)) return false
  if (argument === undefined) return true
  // Runs for every rule: a callback for each of them would be most of what a decision allocates.
  for (const { texts } of call.commands) for (const text of texts) if (matchesText(argument, text)) return true
  for (const { forms } of call.paths) for (const form of forms) if (matchesPath(argument, form)) return true
  for (const url of call.urls) if (matchesUrl(argument, url)) return true
  for (const word of call.words) if (matchesText(argument, word)) return true
  return false
}

/** Most rules are about other commands. The first characters tell, and comparing them takes less time than calling a function of the rule. */
function beginsOtherwise({ start }: RuleArgument, { starts }: MatchedCall): boolean {
  return start !== undefined && starts !== undefined && !starts.has(start)
}

/** How texts begin, as far as rules are told apart by it. */
export function textStarts(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((text) => text.slice(0, START_CHARS)))
}

/**
 * For `allow`: adds the parts of the call that the rule covers, and returns whether there are any. A call is allowed when some rule covers each
 * part.
 */
export function addCoverage({ pattern, classifier }: ToolRule, call: MatchedCall, coverage: Coverage): boolean {
  const { selects, argument } = pattern
  if (argument !== undefined && beginsOtherwise(argument, call)) return false
  if (!selects(call)) return false
  let isAdded = false
  for (const part of coverage.open()) {
    if (argument !== undefined && !coversPart(argument, part)) continue
    coverage.add(part, { skipsDetector: classifier === "none" || (argument !== undefined && isPlain(part)) })
    isAdded = true
  }
  return isAdded
}

export type CallPart =
  | { readonly kind: "command"; readonly of: MatchedCommand; readonly command: CommandPart }
  /** A line of which nothing is known to run. */
  | { readonly kind: "line"; readonly of: MatchedCommand }
  | { readonly kind: "path"; readonly path: MatchedPath }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "words"; readonly words: readonly string[] }

/** Which parts of a call are allowed so far. */
export interface Coverage {
  /** The parts that no rule covers yet. */
  open(): readonly CallPart[]
  add(part: CallPart, how: { readonly skipsDetector: boolean }): void
  /** Undefined while a part is not covered. The detector is skipped when every rule names its part of the call. */
  result(): { readonly skipsDetector: boolean } | undefined
}

export function createCoverage(call: MatchedCall): Coverage {
  let open = partsOf(call)
  let skipsDetector = true
  return {
    open: () => open,
    add: (part, how) => {
      open = open.filter((other) => other !== part)
      skipsDetector &&= how.skipsDetector
    },
    result: () => (open.length === 0 ? { skipsDetector } : undefined),
  }
}

function partsOf(call: MatchedCall): readonly CallPart[] {
  if (call.isScript === true) return [{ kind: "words", words: call.words }]
  const commands = call.commands.flatMap((of): CallPart[] =>
    of.parts.length === 0 ? [{ kind: "line", of }] : of.parts.map((command) => ({ kind: "command", of, command })),
  )
  const paths = call.paths.map((path): CallPart => ({ kind: "path", path }))
  const urls = call.urls.map((url): CallPart => ({ kind: "url", url }))
  const parts = [...commands, ...paths, ...urls]
  return call.words.length > 0 || parts.length === 0 ? [...parts, { kind: "words", words: call.words }] : parts
}

function coversPart(argument: RuleArgument, part: CallPart): boolean {
  switch (part.kind) {
    case "command":
      return part.of.isUnderstood && coversCommand(argument, part)
    case "line":
      return part.of.isUnderstood && isWholeLine(argument, part.of)
    case "path":
      return matchesPath(argument, part.path.literal) && matchesPath(argument, part.path.real)
    case "url":
      return matchesUrl(argument, part.url)
    case "words":
      return part.words.some((word) => matchesText(argument, word))
    default:
      return assertNever(part)
  }
}

/** A wrapper such as sudo changes what a command does, so it has to be part of the pattern. */
function coversCommand(argument: RuleArgument, { of, command }: Extract<CallPart, { kind: "command" }>): boolean {
  if (isWholeLine(argument, of) || matchesText(argument, command.whole)) return true
  return command.hasHarmlessWrappers && matchesText(argument, command.text)
}

const HARMLESS_WRAPPERS: ReadonlySet<string> = new Set([
  "time",
  "timeout",
  "nice",
  "nohup",
  "stdbuf",
  "command",
  "setsid",
])

/** A pattern without wildcards that spells out the whole line names all its commands. */
function isWholeLine({ glob, text }: RuleArgument, { line, squeezed }: MatchedCommand): boolean {
  return glob.isLiteral && (matchesGlob(glob, squeezed) || text === line)
}

/** The rule names what runs, and nothing that the pattern does not show changes a file or the environment. */
function isPlain(part: CallPart): boolean {
  return part.kind !== "command" || part.command.isPlain
}

function matchesText({ glob, bare }: RuleArgument, text: string): boolean {
  return matchesGlob(glob, text) || (bare !== undefined && matchesGlob(bare, text))
}

function squeeze(text: string): string {
  const trimmed = text.trim()
  return UNUSUAL_SPACE.test(trimmed) ? trimmed.replaceAll(/\s+/gu, " ") : trimmed
}

const UNUSUAL_SPACE = /\s\s|[^\S ]/u

function withoutQuotes(text: string): string {
  return text.replaceAll(/["'\\]/gu, "")
}

/** Relative patterns start at the workspace root, both as written and with links resolved. */
function matchesPath({ path: { from, glob } }: RuleArgument, form: PathForm): boolean {
  for (const parts of form[from]) if (matchesPathGlob(glob, parts)) return true
  return false
}

/** Without a slash the pattern compares the host, otherwise the whole URL. */
function matchesUrl(argument: RuleArgument, url: string): boolean {
  if (argument.text.includes("/")) return matchesText(argument, url)
  const parsed = URL.parse(url)
  if (parsed === null) return matchesText(argument, url)
  return matchesText(argument, argument.text.includes(":") ? parsed.host : parsed.hostname)
}
