import type { Dirent } from "node:fs"
import { readdir } from "node:fs/promises"
import { isAbsolute, join, normalize, resolve } from "node:path"

import { judgedCall } from "../../agent/dispatch/policy-request.ts"
import type { JudgedCall, JudgeSession } from "../../agent/dispatch/policy-request.ts"
import { createShellMemory } from "../../agent/dispatch/shell-memory.ts"
import { createPermissions } from "../../agent/permissions.ts"
import { loadPermissionPolicy } from "../../app/permissions/load-permission-policy.ts"
import type { PermissionFlags } from "../../app/permissions/load-permission-policy.ts"
import { namedByGit } from "../../app/permissions/named-by-git.ts"
import { ownProgram } from "../../app/permissions/program-root.ts"
import { sandboxWalls } from "../../app/permissions/session-walls.ts"
import { pathDirectories, writableDirectories } from "../../app/session/session-workspace.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { realPath } from "../../base/real-path.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Config } from "../../config/load-config.ts"
import type { DirectoryEntry } from "../../exec/workspace.ts"
import { isSandboxInstalled } from "../../exec/sandbox/probe-sandbox.ts"
import type { Walls } from "../../policy/commands/command-verdict.ts"
import { decide } from "../../policy/decide.ts"
import { isWithin } from "../../policy/file-floor.ts"
import { unknownProfileText } from "../../policy/permission-profile.ts"
import type { Decision } from "../../policy/policy-request.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "../../policy/shell/understand-command.ts"
import type { ShellState, ShellWord } from "../../policy/shell/understood-command.ts"
import { builtinEntries } from "../../toolkit/builtin-entries.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { BUILTIN_TOOLS } from "../../tools/builtins.ts"
import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"
import { failed, invalid } from "../failure.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "../settings/load-settings.ts"

export interface ExplainOptions {
  /** Default: the one of the settings. */
  readonly profile: string | undefined
  readonly flags: PermissionFlags
  /** Default: what the settings and this machine would use. */
  readonly sandbox: "on" | "off" | undefined
  /** The directory of the session. */
  readonly cwd: string
}

/** A question about a call. Nothing is run. */
export type ExplainRequest =
  | {
      readonly command: string
      /** Where the shell is; a directory outside the session's own stands for a session there. */
      readonly cwd?: string
      /** Earlier commands of the same shell. */
      readonly before?: readonly string[]
    }
  | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }

export interface Explanation {
  readonly decision: Decision["kind"]
  readonly hard: boolean
  readonly rule: string
  readonly layer: Decision["layer"]
  readonly reason: string
  /** Only the explicit answer of a user allows it. */
  readonly person_only?: true
  /** The auxiliary model is asked first and may approve or deny it; this is the decision when it does neither. */
  readonly auxiliary_model?: true
  readonly understood: UnderstoodCall
}

export interface UnderstoodCall {
  readonly tool: string
  readonly access: string
  /** Parts were left out because the call is too long to show. */
  readonly truncated?: true
  readonly commands?: readonly ShownCommand[]
  readonly doubts?: readonly { readonly kind: string; readonly text: string; readonly reason: string }[]
  readonly paths?: readonly { readonly literal: string; readonly real: string }[]
}

export interface ShownCommand {
  /** Words whose value only the shell knows are as written. */
  readonly argv: readonly string[]
  readonly wrappers: readonly (readonly string[])[]
  /** Null when it is not known. */
  readonly cwd: string | null
  readonly redirections: readonly string[]
  readonly assignments?: readonly string[]
  readonly source: string
  readonly remote?: string
  readonly background?: true
}

export interface Explainer {
  /** The error is a sentence about the request. */
  explain(request: ExplainRequest): Promise<Result<Explanation>>
}

/** Prepares everything that the answers share: settings, rules, tools. */
export async function createExplainer(
  context: HomeContext,
  options: ExplainOptions,
): Promise<Result<Explainer, AdminFailure>> {
  const { home } = context
  const { config, environment } = await loadSettings(context)
  const isLocal = config.get("terminal.backend") === "local"
  const root = resolve(options.cwd)
  const workspaceRoot = isLocal ? root : undefined
  const loaded = await loadPermissionPolicy({ config, home, workspaceRoot, platform: "cli", flags: options.flags })
  if (!loaded.ok) return failed(loaded.error)
  const { policy } = loaded.value
  const profile = options.profile ?? loaded.value.profile
  if (!policy.profiles.has(profile)) return invalid(unknownProfileText(profile, [...policy.profiles.keys()]))
  const permissions = createPermissions({
    profile,
    policy,
    origin: { attended: () => true },
    headless: "deny",
    askTimeoutMs: 0,
  })
  const entries = new Map(builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS).map((entry) => [entry.name, entry]))
  const shell = [...entries.values()].find(({ role }) => role === "shell")
  const sandbox = options.sandbox ?? (await sandboxOf(config, environment.get("PATH") ?? ""))
  const resolvedPaths = new Map<string, string>()
  const real = (path: string): string => {
    const known = resolvedPaths.get(path) ?? realPath(path)
    resolvedPaths.set(path, known)
    return known
  }
  const programDirectories = isLocal ? pathDirectories(environment) : []
  const hasSudoPassword = (environment.get("SUDO_PASSWORD") ?? "") !== ""
  const sessionIn = (directory: string, state: ShellState): JudgeSession => {
    const sessionRoot = isWithin(directory, root) ? root : directory
    return {
      permissions,
      policyDirectories: {
        workspaceRoot: sessionRoot,
        userHome: home.userHome,
        hermesHome: home.path,
        hermesRoot: home.root,
        writable: writableDirectories(sessionRoot, { config, home }),
        programDirectories,
        ...(isLocal ? ownProgram() : {}),
      },
      shell: { before: () => state, inputs: new Map() },
      walls: () => Promise.resolve(wallsOf(sandbox, { config, context, workspaceRoot: sessionRoot })),
      hasSudoPassword,
      ...(isLocal ? { isNamedByGit: namedByGit(sessionRoot, home) } : {}),
      workspace: {
        cwd: () => directory,
        files: {
          resolve: (path) => resolvePath(path, directory, home.userHome),
          realPath: (path) => Promise.resolve(real(path)),
          read: (path) => Promise.try(() => readRegularFile(path, { maxBytes: MAX_FILE_BYTES }).bytes),
          list: async (path) => (await readdir(path, { withFileTypes: true })).map(directoryEntry),
        },
      },
    }
  }
  const explainCall = async (
    entry: ToolEntry,
    args: Readonly<Record<string, unknown>>,
    session: JudgeSession,
  ): Promise<Result<Explanation>> => {
    const parsed = (await entry.load()).parse(args)
    if (!parsed.ok) return parsed
    const judged = await judgedCall({ entry, parsed: parsed.value }, session)
    return ok(explanationOf(decide(judged.request, permissions.rules()), judged))
  }
  return ok({
    explain: async (request) => {
      if ("tool" in request) {
        const { tool, args } = innerCall(request)
        const entry = entries.get(tool)
        if (entry === undefined) return fail(`there is no tool "${tool}"; use one of ${[...entries.keys()].join(", ")}`)
        const { workdir } = args
        const directory = typeof workdir === "string" ? resolvePath(workdir, root, home.userHome) : root
        // Input for a process is judged by what it says, whichever process gets it.
        const given = entry.role === "shell-input" ? { session_id: "any", ...args } : args
        return await explainCall(entry, given, sessionIn(root, INITIAL_SHELL_STATE(directory)))
      }
      if (shell === undefined) return fail("this release has no tool that runs commands")
      const directory = request.cwd === undefined ? root : resolvePath(request.cwd, root, home.userHome)
      const memory = createShellMemory(directory)
      // A session knows the real directory. Here it is the one in which the earlier commands, all of which succeeded, have left the shell.
      let current: string | undefined = directory
      for (const line of request.before ?? []) {
        const understood = understandCommand(line, memory.before(current), home)
        memory.ran(understood, "kept")
        current = understood.after.directory
      }
      return await explainCall(shell, { command: request.command }, sessionIn(directory, memory.before(current)))
    },
  })
}

function directoryEntry(entry: Dirent): DirectoryEntry {
  return { name: entry.name, kind: entry.isDirectory() ? "directory" : entry.isFile() ? "file" : "other" }
}

type ToolRequest = Extract<ExplainRequest, { readonly tool: string }>

/** `tool_call` passes a call on to another tool, and that call is what the door judges. */
function innerCall(request: ToolRequest): ToolRequest {
  const { name, arguments: inner } = request.args
  if (request.tool !== "tool_call" || typeof name !== "string") return request
  const args = typeof inner === "string" ? parseJson(inner) : inner
  return isRecord(args) ? { tool: name, args } : request
}

/** Reads one request of the line protocol. */
export function parseExplainRequest(value: unknown): Result<ExplainRequest> {
  if (!isRecord(value)) return fail("a request must be a JSON object")
  const { command, cwd, before, tool, args } = value
  if (tool !== undefined && command !== undefined) return fail("a request has either `command` or `tool`, not both")
  if (tool !== undefined) {
    if (typeof tool !== "string") return fail("`tool` must be the name of a tool")
    if (args !== undefined && !isRecord(args)) return fail("`args` must be an object")
    return ok({ tool, args: args ?? {} })
  }
  if (typeof command !== "string") return fail("a request needs `command`, or `tool` and `args`")
  if (cwd !== undefined && typeof cwd !== "string") return fail("`cwd` must be a path")
  if (before !== undefined && !isTexts(before)) return fail("`before` must be a list of commands")
  return ok({ command, ...(cwd === undefined ? {} : { cwd }), ...(before === undefined ? {} : { before }) })
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string")
}

type SandboxChoice = "on" | "off" | "container"

async function sandboxOf(config: Config, path: string): Promise<SandboxChoice> {
  const backend = config.get("terminal.backend")
  if (backend !== "local") return backend === "ssh" ? "off" : "container"
  return config.get("terminal.sandbox") !== "off" && (await isSandboxInstalled(path)) ? "on" : "off"
}

function wallsOf(
  sandbox: SandboxChoice,
  {
    config,
    context,
    workspaceRoot,
  }: { readonly config: Config; readonly context: HomeContext; readonly workspaceRoot: string },
): Walls {
  if (sandbox !== "on") return { kind: sandbox === "off" ? "none" : "container" }
  const hasCheckpoints = config.get("checkpoints.enabled")
  return sandboxWalls({ config, home: context.home, workspaceRoot, writable: [], hasCheckpoints })
}

function resolvePath(path: string, directory: string, userHome: string): string {
  if (path === "~" || path.startsWith("~/")) return join(userHome, path.slice(1))
  return isAbsolute(path) ? normalize(path) : join(directory, path)
}

function explanationOf(decision: Decision, judged: JudgedCall): Explanation {
  return {
    decision: decision.kind,
    hard: decision.hard === true,
    rule: cut(decision.rule),
    layer: decision.layer,
    reason: cut(decision.reason),
    ...(decision.personOnly === true ? { person_only: true } : {}),
    ...(decision.classifier === "ml" ? { auxiliary_model: true } : {}),
    understood: understoodCall(judged),
  }
}

function understoodCall({ request }: JudgedCall): UnderstoodCall {
  const { tool, access, commands, paths } = request
  const understood = commands.map(({ verdict }) => verdict.understood)
  return bounded({
    tool,
    access,
    ...(commands.length === 0
      ? {}
      : {
          commands: understood.flatMap((line) => line.commands).map(shownCommand),
          doubts: understood.flatMap(({ doubts }) => doubts),
        }),
    ...(paths.length === 0 ? {} : { paths }),
  })
}

/** Keeps answers short enough for programs that read them line by line. */
const MAX_FILE_BYTES = 1_000_000
const MAX_UNDERSTOOD_CHARS = 48 * 1024
const MAX_TEXT_CHARS = 2000
const MAX_ITEMS = 200

function bounded(call: UnderstoodCall): UnderstoodCall {
  if (JSON.stringify(call).length <= MAX_UNDERSTOOD_CHARS) return call
  const { tool, access, commands = [], doubts = [], paths = [] } = call
  let remaining = MAX_UNDERSTOOD_CHARS - MAX_TEXT_CHARS
  const take = <Item>(items: readonly Item[], shorten: (item: Item) => Item): readonly Item[] => {
    const taken: Item[] = []
    for (const item of items.slice(0, MAX_ITEMS)) {
      const short = shorten(item)
      remaining -= JSON.stringify(short).length
      if (remaining < 0) break
      taken.push(short)
    }
    return taken
  }
  return {
    tool: cut(tool),
    access,
    truncated: true,
    commands: take(commands, (command) => ({
      ...command,
      argv: cutAll(command.argv),
      wrappers: command.wrappers.slice(0, MAX_WORDS).map(cutAll),
      redirections: cutAll(command.redirections),
      ...(command.assignments === undefined ? {} : { assignments: cutAll(command.assignments) }),
    })),
    doubts: take(doubts, ({ kind, text, reason }) => ({ kind, text: cut(text), reason })),
    paths: take(paths, ({ literal, real }) => ({ literal: cut(literal), real: cut(real) })),
  }
}

const MAX_WORDS = 20
const cut = (text: string): string => (text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text)
const cutAll = (texts: readonly string[]): readonly string[] =>
  texts.length > MAX_WORDS ? [...texts.slice(0, MAX_WORDS).map(cut), "…"] : texts.map(cut)

function shownCommand(
  command: JudgedCall["request"]["commands"][number]["verdict"]["understood"]["commands"][number],
): ShownCommand {
  const words = (list: readonly ShellWord[]): readonly string[] => list.map(({ text }) => text)
  const { assignments, remote } = command
  return {
    argv: words(command.argv),
    wrappers: command.wrappers.map(({ argv }) => words(argv)),
    cwd: command.directory ?? null,
    redirections: command.redirections.map(
      ({ descriptor, operator, target }) => `${descriptor ?? ""}${operator}${target.text}`,
    ),
    ...(assignments.length === 0 ? {} : { assignments: assignments.map(({ name, value }) => `${name}=${value.text}`) }),
    source: command.source,
    ...(remote === undefined ? {} : { remote }),
    ...(command.background ? { background: true } : {}),
  }
}
