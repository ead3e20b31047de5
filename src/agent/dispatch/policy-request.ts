import { basename, dirname, join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import type { FileSystem, JudgedPath, Workspace } from "../../exec/workspace.ts"
import { writableRoots } from "../../policy/file-floor.ts"
import type { CommandFacts, CommandFinding, Container, Walls } from "../../policy/commands/command-verdict.ts"
import type { JudgedCommand, PolicyDirectories, PolicyRequest } from "../../policy/policy-request.ts"
import type { PackageScripts } from "../../policy/commands/protected-file-rules.ts"
import type { ShellState } from "../../policy/shell/understood-command.ts"
import type { Subject } from "../../protocol/tool.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { ReadyCall } from "./prepare.ts"
import type { ProcessInput } from "./process-input.ts"
import { createShellMemory } from "./shell-memory.ts"
import type { ShellMemory } from "./shell-memory.ts"

/** A call as the policy sees it, with everything that had to be looked up. */
export interface JudgedCall {
  readonly request: PolicyRequest
  /** The shell that the commands of the call would run in. */
  readonly state: ShellState
  /** The paths that the commands mention, with links resolved. */
  readonly realPaths: ReadonlyMap<string, string>
  /** The paths that the tool may access, as they were judged. */
  readonly judgedPaths: readonly JudgedPath[]
  /** What the call sends to a background process, and what later input of that process continues. */
  readonly input?: { readonly process: string; readonly after: ProcessInput; readonly written?: ShellState }
}

/** What a judgement needs of a session. `hermes permissions explain` provides it without one. */
export interface JudgeSession extends Pick<
  DispatchSession,
  | "permissions"
  | "policyDirectories"
  | "walls"
  | "scriptWalls"
  | "hasSudoPassword"
  | "newRepositories"
  | "isNamedByGit"
  | "startedProcess"
> {
  readonly shell: Pick<ShellMemory, "before" | "inputs">
  readonly workspace: Pick<Workspace, "cwd"> & {
    readonly files: Pick<FileSystem, "resolve" | "realPath"> &
      Partial<Pick<FileSystem, "read" | "readRange" | "stat" | "list">>
  }
}

type CallToJudge = Pick<ReadyCall, "entry" | "parsed">

export async function judgedCall(prepared: CallToJudge, session: JudgeSession): Promise<JudgedCall> {
  const { entry, parsed } = prepared
  const action = parsed.args["action"]
  const isScript = entry.role === "script"
  // A script is not started by the shell of the session, so functions and variables there do not change it.
  const shell = isScript ? createShellMemory() : session.shell
  const state = shell.before(workingDirectory(prepared, session))
  const realPaths = new Map<string, string>()
  const [{ judgedPaths, ...resolved }, { commands, input }] = await Promise.all([
    resolvedPaths(prepared, session),
    entry.role === "shell-input"
      ? judgedInput(prepared, session, { state, realPaths })
      : judgedCommands(prepared, session, { state, realPaths }),
  ])
  const runsCommands = entry.role === "shell" || isScript
  const walls = isScript ? (session.scriptWalls ?? session.walls) : session.walls
  // Opening the sandbox takes time, and the walls decide nothing about a command without findings in a profile that runs it. Code of a
  // plugin that replaces a tool does not run inside of them.
  const needsWalls =
    entry.source.kind !== "plugin" && commands.length > 0 && (hasFindings(commands) || asksAboutCommands(session))
  return {
    state,
    realPaths,
    judgedPaths,
    ...(input === undefined ? {} : { input }),
    request: {
      tool: entry.name,
      toolset: entry.toolset,
      ...(entry.source.kind === "mcp" ? { server: entry.source.server } : {}),
      ...(entry.source.kind === "plugin" ? { plugin: entry.source.plugin } : {}),
      access: parsed.access,
      subjects: parsed.subjects,
      ...(typeof action === "string" ? { action } : {}),
      ...(parsed.confirm === undefined ? {} : { confirm: parsed.confirm }),
      ...resolved,
      ...(parsed.access === "write" && (await areNamedByGit(judgedPaths, session)) ? { isNamedByGit: true } : {}),
      commands,
      runsCommands,
      ...(isScript ? { isScript } : {}),
      ...(state.directory === undefined ? {} : { startDirectory: state.directory }),
      inBackground: runsCommands && parsed.args["background"] === true,
      walls: needsWalls ? ((await walls?.()) ?? NO_WALLS) : NO_WALLS,
      directories: session.policyDirectories,
    },
  }
}

const NO_WALLS: Walls = { kind: "none" }

function hasFindings(commands: readonly JudgedCommand[]): boolean {
  return commands.some(({ verdict, opens }) => verdict.findings.length + verdict.outside.length + opens.length > 0)
}

/** `accept-edits` and plan mode run a command without findings only inside the sandbox. */
function asksAboutCommands({ permissions }: JudgeSession): boolean {
  const { default: initial } = permissions.rules().profile
  return initial === "workspace" || initial === "plan"
}

/** The directory that a command of this call would start in. */
function workingDirectory({ parsed }: CallToJudge, { workspace }: JudgeSession): string {
  const { workdir } = parsed.args
  return typeof workdir === "string" && workdir !== "" ? workspace.files.resolve(workdir) : workspace.cwd()
}

interface JudgedLines extends Pick<JudgedCall, "input"> {
  readonly commands: readonly JudgedCommand[]
}

interface Shell {
  readonly state: ShellState
  readonly realPaths: Map<string, string>
}

async function judgedCommands({ parsed }: CallToJudge, session: JudgeSession, shell: Shell): Promise<JudgedLines> {
  const lines = commandLines(parsed.subjects)
  return { commands: await Promise.all(lines.map((line) => judgedLine(line, session, shell))) }
}

function commandLines(subjects: readonly Subject[]): readonly string[] {
  return subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []))
}

/** What is sent to a running program is judged by what the program makes of it. */
async function judgedInput({ parsed }: CallToJudge, session: JudgeSession, shell: Shell): Promise<JudgedLines> {
  const { action, session_id: process, data } = parsed.args
  if (typeof process !== "string" || (action !== "write" && action !== "submit")) return { commands: [] }
  const { afterInput, inputLine, judgeInput, keyFinding, NO_INPUT } = await import("./process-input.ts")
  const before = session.shell.inputs.get(process) ?? NO_INPUT
  const line = inputLine(before, typeof data === "string" ? data : "")
  const facts = factsOf(session)
  const { command, isShell, mayBeShell, written } = await judgeInput(line, {
    before,
    started: await session.startedProcess?.(process),
    state: shell.state,
    facts,
    judge: async (text, state) => await judgedLine(text, session, { ...shell, state }),
    realPaths: async (paths) => await lookedUp(paths, session, shell.realPaths),
  })
  const keys = keyFinding(line)
  const after = afterInput(before, {
    line: action === "submit" ? `${line}\n` : line,
    initial: shell.state,
    userHome: facts.userHome,
    isShell,
  })
  return {
    commands: [keys === undefined ? command : withFinding(command, keys)],
    input: {
      process,
      after: mayBeShell === true ? { ...after, mayBeShell } : after,
      ...(written === undefined ? {} : { written }),
    },
  }
}

function withFinding(command: JudgedCommand, finding: CommandFinding): JudgedCommand {
  const { verdict } = command
  const isStronger = verdict.level === "hardline" || verdict.level === "sudo_guard"
  const level = isStronger ? verdict.level : finding.level
  return { ...command, verdict: { ...verdict, level, findings: [...verdict.findings, finding] } }
}

async function lookedUp(
  paths: readonly string[],
  session: JudgeSession,
  realPaths: Map<string, string>,
): Promise<ReadonlyMap<string, string>> {
  await Promise.all(paths.map(async (path) => realPaths.set(path, await realPathOrItself(path, session))))
  return realPaths
}

function factsOf({ policyDirectories, hasSudoPassword }: JudgeSession): Omit<CommandFacts, "realPath"> {
  const { userHome, hermesHome, hermesRoot, workspaceRoot, programRoot } = policyDirectories
  return {
    userHome,
    hermesHome,
    hermesRoot,
    workspaceRoot,
    ...(programRoot === undefined ? {} : { programRoot }),
    hasSudoPassword: hasSudoPassword === true,
  }
}

async function judgedLine(line: string, session: JudgeSession, { state, realPaths }: Shell): Promise<JudgedCommand> {
  const { judgeCommand } = await import("../../policy/judge-command.ts")
  const lookUp = async (paths: readonly string[]): Promise<ReadonlyMap<string, string>> =>
    await lookedUp(paths, session, realPaths)
  const facts = factsOf(session)
  const packageScripts = async (directories: readonly string[]): Promise<PackageScripts> =>
    new Map(await Promise.all(directories.map(async (path) => [path, await scriptsIn(path, session)] as const)))
  const readTexts = async (paths: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const texts = await Promise.all(paths.map(async (path) => [path, await textOf(path, session)] as const))
    return new Map(texts.flatMap(([path, text]) => (text === undefined ? [] : [[path, text]])))
  }
  const contained = async (
    containers: readonly Container[],
  ): Promise<ReadonlyMap<string, readonly string[] | undefined>> => {
    const { containedNames } = await import("./contained-names.ts")
    const found = await Promise.all(
      containers.map(async (container) => ({
        container,
        names: await containedNames(container, session.workspace.files),
      })),
    )
    return new Map(
      found.flatMap(({ container: { path }, names }) =>
        names === undefined ? [] : [[path, names === "unreadable" ? undefined : names]],
      ),
    )
  }
  const programs = {
    programDirectories: session.policyDirectories.programDirectories ?? [],
    writable: writableRoots(session.policyDirectories),
    hasFile: async (path: string): Promise<boolean> => await isFile(path, session),
  }
  const judgement = {
    state,
    facts,
    realPaths: lookUp,
    packageScripts,
    readTexts,
    containedNames: contained,
    programs,
    ...(session.newRepositories === undefined ? {} : { newRepositories: session.newRepositories }),
  }
  return await judgeCommand(line, judgement)
}

async function isFile(path: string, { workspace }: JudgeSession): Promise<boolean> {
  try {
    return (await workspace.files.stat?.(path))?.kind === "file"
  } catch {
    // Not accessible: the shell may still start it.
    return true
  }
}

/** The text of a file; undefined where it cannot be read. */
async function textOf(path: string, { workspace }: JudgeSession): Promise<string | undefined> {
  try {
    const range = { start: 0, length: MAX_TEXT_BYTES }
    const { files } = workspace
    const bytes = await (files.readRange === undefined ? files.read?.(path) : files.readRange(path, range))
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
  } catch {
    // There is none, and the command will report it.
    return undefined
  }
}

/** What a command does is decided by less. */
const MAX_TEXT_BYTES = 4_000_000

/** The scripts of `package.json` in a directory; none where it cannot be read. */
async function scriptsIn(directory: string, session: JudgeSession): Promise<Readonly<Record<string, string>>> {
  const document = parseJson((await textOf(join(directory, "package.json"), session)) ?? "")
  const scripts = isRecord(document) && isRecord(document["scripts"]) ? document["scripts"] : {}
  return Object.fromEntries(
    Object.entries(scripts).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])),
  )
}

async function areNamedByGit(
  paths: readonly JudgedPath[],
  { isNamedByGit }: Pick<JudgeSession, "isNamedByGit">,
): Promise<boolean> {
  if (isNamedByGit === undefined) return false
  const found = await Promise.all(paths.flatMap(({ real, entry }) => [...new Set([real, entry])]).map(isNamedByGit))
  return found.includes(true)
}

/** The paths that the policy compares, as written and with links resolved. */
async function resolvedPaths(
  { parsed }: CallToJudge,
  session: JudgeSession,
): Promise<Pick<PolicyRequest, "paths" | "realDirectories"> & Pick<JudgedCall, "judgedPaths">> {
  const given = parsed.subjects.flatMap((subject) => (subject.kind === "path" ? [subject.path] : []))
  if (given.length === 0) return { paths: [], judgedPaths: [] }
  // In parallel: on a remote workspace each lookup is a round trip.
  const [judgedPaths, realDirectories] = await Promise.all([
    Promise.all(given.map((path) => judgedPath(path, { session, isRead: parsed.access === "read" }))),
    resolvedDirectories(session.policyDirectories, session),
  ])
  const paths = judgedPaths.map(({ literal, real, entry }) =>
    entry === real ? { literal, real } : { literal, real, entry },
  )
  return { paths, realDirectories, judgedPaths }
}

/** Reading follows a link at the end of the path, so the link itself needs no judgement. */
async function judgedPath(
  given: string,
  { session, isRead }: { readonly session: JudgeSession; readonly isRead: boolean },
): Promise<JudgedPath> {
  const literal = session.workspace.files.resolve(given)
  const [real, parent] = await Promise.all([
    realPathOrItself(literal, session),
    isRead || literal === "/" ? undefined : realPathOrItself(dirname(literal), session),
  ])
  return { given, literal, real, entry: parent === undefined ? real : join(parent, basename(literal)) }
}

async function resolvedDirectories(directories: PolicyDirectories, session: JudgeSession): Promise<PolicyDirectories> {
  const real = async (path: string): Promise<string> => await realPathOrItself(path, session)
  const { writable = [], programDirectories = [], programRoot } = directories
  const [workspaceRoot, userHome, hermesHome, hermesRoot, ...realWritable] = await Promise.all([
    real(directories.workspaceRoot),
    real(directories.userHome),
    real(directories.hermesHome),
    real(directories.hermesRoot),
    ...writable.map(real),
  ])
  const own = programRoot === undefined ? {} : { programRoot: await real(programRoot) }
  const { results } = directories
  return {
    workspaceRoot,
    userHome,
    hermesHome,
    hermesRoot,
    results,
    writable: realWritable,
    programDirectories,
    ...own,
  }
}

async function realPathOrItself(path: string, { workspace }: JudgeSession): Promise<string> {
  try {
    return await workspace.files.realPath(path)
  } catch {
    // Not resolvable (a loop, no permission): the tool will report why; the literal path is judged.
    return path
  }
}
