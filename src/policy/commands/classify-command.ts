import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { Doubt, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { absolutePath, namesTooManyPaths } from "./command-paths.ts"
import { PERSON, findRules, indexRules } from "./command-rule.ts"
import type { CommandRule } from "./command-rule.ts"
import type { CommandFacts, CommandFinding, CommandVerdict, FindingLevel } from "./command-verdict.ts"
import { CAPTURE_RULES } from "./families/capture.ts"
import { CREDENTIAL_RULES } from "./families/credentials.ts"
import { CREDENTIAL_LIST_RULES } from "./families/credential-lists.ts"
import { CREDENTIAL_SEARCH_RULES } from "./families/credential-search.ts"
import { DELETION_RULES } from "./families/deletion.ts"
import { DISK_RULES } from "./families/disks.ts"
import { DOWNLOADED_PROGRAM_RULES } from "./families/downloaded-programs.ts"
import { ELSEWHERE_RULES } from "./families/elsewhere.ts"
import { ENVIRONMENT_RULES } from "./families/environment.ts"
import { EXFILTRATION_RULES } from "./families/exfiltration.ts"
import { FOREIGN_CODE_RULES } from "./families/foreign-code.ts"
import { FOUND_FILE_RULES } from "./families/found-files.ts"
import { HIDDEN_NAME_RULES } from "./families/hidden-names.ts"
import { HERMES_RULES } from "./families/hermes.ts"
import { INTERPRETER_RULES } from "./families/interpreters.ts"
import { LAUNCHER_RULES } from "./families/launchers.ts"
import { MACHINE_RULES } from "./families/machine.ts"
import { MOVED_SETTINGS_RULES } from "./families/moved-settings.ts"
import { OTHER_REPOSITORY_RULES } from "./families/other-repositories.ts"
import { OUTSIDE_RULES } from "./families/outside.ts"
import { OUTGOING_DATA_RULES } from "./families/outgoing-data.ts"
import { PERSISTENCE_RULES } from "./families/persistence.ts"
import { PRIVILEGE_RULES, readsPassword } from "./families/privileges.ts"
import { PROCESS_RULES } from "./families/processes.ts"
import { PROTECTED_ARGUMENT_RULES } from "./families/protected-arguments.ts"
import { REPLACED_DIRECTORY_RULES } from "./families/replaced-directories.ts"
import { RENAMED_PROGRAM_RULES } from "./families/renamed-programs.ts"
import { SERVICE_RULES } from "./families/services.ts"
import { VERSION_CONTROL_RULES } from "./families/version-control.ts"
import { findWrittenFiles } from "./families/written-files.ts"
import { TEMPORARY_CODE_RULES } from "./families/temporary-code.ts"
import { TEXT_PROGRAM_RULES } from "./families/text-programs.ts"
import { UNPACKED_FILE_RULES } from "./families/unpacked-files.ts"
import { WRITTEN_SCRIPT_RULES } from "./families/written-scripts.ts"
import { namesOnlyCreated } from "./created-directories.ts"
import { withoutInertText } from "./inert-text.ts"
import { invocations, programName } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { RISKY_TEXT } from "./risky-text-rules.ts"
import {
  FORK_BOMB,
  HARDLINE_TEXT,
  SELF_STARTING_FUNCTION,
  SUDO_PASSWORD_TEXT,
  SUDO_TEXT,
  matchesSearched,
  searchedText,
} from "./text-rules.ts"
import type { SearchedText, TextRule } from "./text-rules.ts"
import { textViews } from "./text-view.ts"
import { writtenPaths } from "./written-paths.ts"

/** Judges a command line by what it runs, and by its text for what hides in arguments. Pure; never throws. */
export function classifyCommand(understood: UnderstoodCommand, line: string, knownFacts: CommandFacts): CommandVerdict {
  const facts = { ...withNewLinks(knownFacts, understood.after.links), pathForms: new Map<string, readonly string[]>() }
  const calls = understood.commands.flatMap((command) => invocations(command, understood, facts))
  const tooLong = line.length > MAX_SCANNED_CHARS || namesTooManyPaths(understood)
  const run = calls.flatMap((call) => {
    const written = call.command.source === "remote" ? [] : writtenPaths(call)
    return [
      ...findWrittenFiles(call, written, "write"),
      ...findRules(call, RULES),
      ...findSudoGuard(call),
      ...findWrittenFiles(call, written, "delete"),
    ]
  })
  const text = [
    ...(tooLong ? [TOO_LONG] : []),
    ...(line.length > MAX_SCANNED_CHARS ? [] : findInText(understood, line, facts)),
  ]
  const findings = [
    ...run,
    ...text.filter(
      ({ key, level }) => !run.some((other) => other.key === key && STRENGTH[other.level] >= STRENGTH[level]),
    ),
    ...understood.doubts
      .filter((doubt) => doubt.kind !== "directory" && !isOwnScript(doubt, understood, facts))
      .map(doubtFinding),
    ...calls.flatMap(findUnknownDirectory),
  ]
  const sorted = distinct(findings).toSorted((one, other) => STRENGTH[other.level] - STRENGTH[one.level])
  const outside = distinct(calls.flatMap((call) => findRules(call, OUTSIDE)))
  return { level: sorted[0]?.level ?? "ok", findings: sorted, outside, understood }
}

/** Links that commands of this shell make may not exist yet when the line is judged. */
function withNewLinks(facts: CommandFacts, links: ReadonlyMap<string, string> | undefined): CommandFacts {
  if (links === undefined || links.size === 0) return facts
  const realPath = (path: string): string => {
    let current = facts.realPath(path)
    for (let round = 0; round < MOST_LINKS_FOLLOWED; round += 1) {
      const link = [...links].find(([from]) => isWithin(current, from))
      if (link === undefined) break
      current = facts.realPath(posix.join(link[1], current.slice(link[0].length)))
    }
    return current
  }
  return { ...facts, realPath }
}

const MOST_LINKS_FOLLOWED = 8

/** No system can start a longer command, so scanning it would only take time. */
const MAX_SCANNED_CHARS = 256 * 1024
const TOO_LONG: CommandFinding = {
  level: "ask",
  key: "command too long to judge",
  description: "the command is too long to judge",
  view: "text",
  effects: [{ kind: "code" }],
}

const STRENGTH: Readonly<Record<FindingLevel, number>> = { hardline: 4, sudo_guard: 3, ask_person: 2, ask: 1 }

/** In the order in which findings of the same level are shown. */
const RULES = indexRules([
  ...DELETION_RULES,
  ...REPLACED_DIRECTORY_RULES,
  ...FOUND_FILE_RULES,
  ...DISK_RULES,
  ...PROCESS_RULES,
  ...MACHINE_RULES,
  ...PRIVILEGE_RULES,
  ...FOREIGN_CODE_RULES,
  ...DOWNLOADED_PROGRAM_RULES,
  ...OTHER_REPOSITORY_RULES,
  ...INTERPRETER_RULES,
  ...alsoElsewhere(VERSION_CONTROL_RULES),
  ...alsoElsewhere(SERVICE_RULES),
  ...ELSEWHERE_RULES,
  ...HERMES_RULES,
  ...alsoElsewhere(PERSISTENCE_RULES),
  ...alsoElsewhere(UNPACKED_FILE_RULES),
  ...EXFILTRATION_RULES,
  ...CREDENTIAL_RULES,
  ...OUTGOING_DATA_RULES,
  ...CREDENTIAL_SEARCH_RULES,
  ...CREDENTIAL_LIST_RULES,
  ...HIDDEN_NAME_RULES,
  ...PROTECTED_ARGUMENT_RULES,
  ...CAPTURE_RULES,
  ...LAUNCHER_RULES,
  ...TEXT_PROGRAM_RULES,
  ...TEMPORARY_CODE_RULES,
  ...WRITTEN_SCRIPT_RULES,
  ...RENAMED_PROGRAM_RULES,
  ...ENVIRONMENT_RULES,
  ...MOVED_SETTINGS_RULES,
])

/** What these commands do is the same on another machine, and the sandbox of this one does not confine it. */
function alsoElsewhere(rules: readonly CommandRule[]): readonly CommandRule[] {
  return rules.map((rule) => ({ ...rule, remote: true }))
}

const OUTSIDE = indexRules(OUTSIDE_RULES)

/** What is found in either of two readings of the same line. The first one says what the line runs. */
export function joinVerdicts(first: CommandVerdict, second: CommandVerdict): CommandVerdict {
  const findings = distinct([...first.findings, ...second.findings]).toSorted(
    (one, other) => STRENGTH[other.level] - STRENGTH[one.level],
  )
  return {
    ...first,
    level: findings[0]?.level ?? "ok",
    findings,
    outside: distinct([...first.outside, ...second.outside]),
  }
}

function distinct(findings: readonly CommandFinding[]): readonly CommandFinding[] {
  if (findings.length < 2) return findings
  const seen = new Set<string>()
  return findings.filter(({ key, description, level }) => {
    const id = `${level} ${key} ${description}`
    return !seen.has(id) && seen.add(id)
  })
}

/** Guessing passwords is refused like a hardline command; with a configured password, Hermes itself passes it to sudo. */
function findSudoGuard(call: Invocation): readonly CommandFinding[] {
  if (call.program !== "sudo" || call.facts.hasSudoPassword || call.command.source === "remote" || !readsPassword(call))
    return []
  return [{ ...textFinding(SUDO_PASSWORD_TEXT, "sudo_guard", call.command.wholeText), view: "argv" }]
}

function findInText(understood: UnderstoodCommand, line: string, facts: CommandFacts): readonly CommandFinding[] {
  // A line of comments runs nothing.
  if (understood.commands.length === 0 && understood.doubts.length === 0) return []
  const views = textViews(line, facts)
  const searched = views.map(searchedText)
  const inert = withoutInertText(understood, views)
  const risky = namesOnlyCreated(line, understood)
    ? RISKY_TEXT.filter(({ key }) => !key.startsWith("recursive delete"))
    : RISKY_TEXT
  const hits = (rules: readonly TextRule[], texts: readonly SearchedText[] = searched): readonly TextRule[] =>
    rules.filter((rule) => {
      for (const text of texts) if (matchesSearched(rule, text)) return true
      return false
    })
  const isUnderstood = !understood.doubts.some(({ kind }) => LEXING.has(kind))
  const programs = localPrograms(understood.commands)
  const isElsewhere = understood.commands.some(({ source }) => source === "remote")
  const found = [
    ...hits([FORK_BOMB, SELF_STARTING_FUNCTION]).map((rule) => textFinding(rule, "hardline", line)),
    ...hits(HARDLINE_TEXT).map((rule) => textFinding(rule, hardlineLevel(rule), line)),
    ...hits(risky, inert === views ? searched : inert.map(searchedText)).map((rule) => textFinding(rule, "ask", line)),
    ...(isUnderstood ? [] : hits(SUDO_TEXT).map((rule) => textFinding(rule, "ask", line))),
    ...(isUnderstood || facts.hasSudoPassword
      ? []
      : hits([SUDO_PASSWORD_TEXT]).map((rule) => textFinding(rule, "sudo_guard", line))),
  ]
  // The sandbox of this machine does not confine what runs on another one.
  return isElsewhere ? found.map((finding) => ({ ...finding, effects: PERSON })) : found

  /** 4.2: what the argv view could not see is for the user alone; what it saw and cleared is an ordinary question. */
  function hardlineLevel(rule: TextRule): FindingLevel {
    if (!isUnderstood) return "hardline"
    return rule.programs?.some((program) => programs.has(program)) === true ? "ask" : "ask_person"
  }
}

const LEXING = new Set(["syntax", "depth", "length"])

function localPrograms(commands: readonly SimpleCommand[]): ReadonlySet<string> {
  return new Set(commands.filter(({ source }) => source !== "remote").map(({ program }) => programName(program ?? "")))
}

function textFinding(rule: TextRule, level: FindingLevel, line: string): CommandFinding {
  const shown = line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line
  return { level, key: rule.key, description: `${shown} contains: ${rule.key}`, view: "text", effects: rule.effects }
}

const MAX_SHOWN = 120

function doubtFinding({ text, reason }: UnderstoodCommand["doubts"][number]): CommandFinding {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  return {
    level: "ask",
    key: `not understood: ${reason}`,
    description:
      shown === ""
        ? `This command line is too complicated to be judged: ${reason}`
        : `${shown} is not understood: ${reason}`,
    view: "argv",
    effects: [{ kind: "code" }],
  }
}

/** `source venv/bin/activate`: a file of the workspace is an ordinary one, also where the workspace is a temporary directory. */
function isOwnScript(doubt: Doubt, { commands, after }: UnderstoodCommand, { workspaceRoot }: CommandFacts): boolean {
  if (doubt.kind !== "script") return false
  return commands.some(({ program, argv, directory }) => {
    const [, file] = argv
    if ((program !== "source" && program !== ".") || file?.known !== true || file.text !== doubt.text) return false
    const path = absolutePath(file, directory)
    return (
      path !== undefined && isWithin(path, workspaceRoot) && path !== workspaceRoot && after.files?.has(path) !== true
    )
  })
}

/** An unknown working directory matters to commands that change files in it. */
function findUnknownDirectory(call: Invocation): readonly CommandFinding[] {
  if (call.command.directory !== undefined || call.command.source === "remote") return []
  const relative = writtenPaths(call).some(({ word }) => !/^[/~$]/u.test(word.text))
  if (!relative) return []
  const reason = "it changes files in a directory that is not known"
  return [doubtFinding({ kind: "directory", text: call.command.text || call.command.wholeText, reason })]
}
