import { existsSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { programDirectories as directoriesOfPath } from "../../base/find-program.ts"
import { lazy } from "../../base/lazy.ts"
import type { Logger } from "../../base/logger.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { HERMES_PROGRAMS, HERMES_RESULTS } from "../../config/protected-paths.ts"
import { toolHome } from "../../config/tool-home.ts"
import { commandEnvironment, visibleVariables } from "../../exec/command-environment.ts"
import type { FileGuard } from "../../exec/local/local-files.ts"
import type { LocalMachine } from "../../exec/local/local-machine.ts"
import { createLocalWorkspace } from "../../exec/local/local-workspace.ts"
import type { OpenSandbox } from "../../exec/local/local-shell-state.ts"
import type { NetworkAccess } from "../../exec/sandbox/network/network-access.ts"
import type { Programs } from "../../exec/programs/programs.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { ScriptSettings, ToolLimits } from "../../toolkit/tool.ts"
import type { SandboxPaths } from "./session-options.ts"

interface WorkspaceSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
  /** What workspaces on this machine share. */
  readonly machine?: LocalMachine
}

interface WorkspaceRequest {
  readonly cwd: string
  readonly sessionId?: SessionId
  /** The first session of the lineage, whose sessions share their long results. */
  readonly lineage?: SessionId
  readonly sandboxPaths?: SandboxPaths
  /** The session is a sub-agent: a workspace elsewhere belongs to its parent. */
  readonly isBorrowed?: boolean
  /** Aborts a workspace that takes too long to open. */
  readonly signal: AbortSignal
}

/** Opens the workspace that `terminal.backend` selects. An error names the fix. */
export async function openWorkspace(request: WorkspaceRequest, sources: WorkspaceSources): Promise<Result<Workspace>> {
  const { config, environment, home, clock, log } = sources
  const backend = config.get("terminal.backend")
  if (backend === "local") return ok(await openLocal(request, sources))
  const { openBackend } = await import("../../exec/open-backend.ts")
  const opened = await openBackend({
    backend,
    config,
    home,
    environment: environment.toObject(),
    secret: (name) => environment.get(name),
    cwd: request.cwd,
    taskId: "default",
    isBorrowed: request.isBorrowed === true,
    clock,
    log,
    signal: request.signal,
  })
  return opened.ok ? ok(withProgramsHere(opened.value, request, sources)) : opened
}

/** Commands run elsewhere, but scripts that call tools run on this machine, with the walls that commands have here. */
function withProgramsHere(remote: Workspace, request: WorkspaceRequest, sources: WorkspaceSources): Workspace {
  const local = lazy(() => openLocal({ cwd: tmpdir(), signal: request.signal }, sources))
  const programs = async (): Promise<Programs> => {
    const { programs: found } = await local()
    if (found === undefined) throw new Error("programs cannot run on this machine")
    return found
  }
  return {
    ...remote,
    programs: {
      isSandboxed: async () => await (await programs()).isSandboxed(),
      environment: async () => await (await programs()).environment(),
      start: async (program) => await (await programs()).start(program),
    },
    close: async () => {
      await Promise.all([remote.close(), local.peek()?.then((opened) => opened.close())])
    },
    abandon: () => {
      remote.abandon()
      local.peek()?.then(
        (opened) => {
          opened.abandon()
        },
        () => undefined,
      )
    },
  }
}

/** Closes a workspace, or abandons it when that takes too long. */
export async function closeWorkspace(
  workspace: Workspace,
  log: Logger,
  budget: AbortSignal = AbortSignal.timeout(workspace.kind === "modal" ? KEEPING_MS : CLOSING_MS),
): Promise<void> {
  const closed = await orAborted(
    workspace.close().then(() => true),
    budget,
  )
  if (closed === true) return
  log.warning(`the ${workspace.kind} workspace did not close in time and was abandoned`)
  workspace.abandon()
}

const CLOSING_MS = 15_000
/** Modal saves the files when it closes; abandoning that loses them. */
const KEEPING_MS = 120_000

/** Commands on this machine get a filtered environment, `HERMES_HOME`, and a sandbox where one is available. */
async function openLocal(
  { cwd, sessionId, lineage, sandboxPaths }: WorkspaceRequest,
  sources: WorkspaceSources,
): Promise<Workspace> {
  const { config, environment, home, machine } = sources
  const account = toolHome({ home, environment, mode: config.get("terminal.home_mode") })
  const passthrough = config.get("terminal.env_passthrough")
  const named = config.get("terminal.shell_init_files")
  const startup = named.length === 0 && config.get("terminal.auto_source_bashrc") ? {} : { startupFiles: named }
  const limited = await limitedNetwork(sources)
  // Read for each command.
  const sessionVariables: Record<string, string> = sessionId === undefined ? {} : { HERMES_SESSION_ID: sessionId }
  const results = lineage === undefined ? undefined : resultDirectory(home, lineage)
  const shownFiles = new Set(results === undefined ? [] : [results])
  const access = limited?.access
  const set = { HERMES_HOME: home.path, ...account, ...limited?.variables }
  const timezone = config.get("timezone")
  const zone: Readonly<Record<string, string>> = timezone === "" ? {} : { TZ: timezone }
  const workspace = createLocalWorkspace({
    cwd,
    ...(machine === undefined ? {} : { machine }),
    userHome: home.userHome,
    fileGuard: floorFor(cwd, results, sources),
    ...(results === undefined ? {} : { resultDirectory: results }),
    persistentShell: config.get("terminal.persistent_shell"),
    startupVariables: visibleVariables(passthrough),
    ...startup,
    ...(config.get("terminal.sandbox") === "off"
      ? {}
      : { openSandbox: sandboxFor({ cwd, sandboxPaths, access, shownFiles }, sources) }),
    environment: commandEnvironment(environment.toObject(), { passthrough, set }),
    programEnvironment: () =>
      commandEnvironment(environment.toObject(), { passthrough, set: { ...set, ...zone }, audience: "scripts" }),
    sessionVariables,
  })
  const provided: Workspace = {
    ...workspace,
    provideVariables: (values) => {
      const allowed = new Set(visibleVariables(Object.keys(values)))
      // What commands see anyway may differ from the environment of this process.
      const ordinary = new Set(visibleVariables([]))
      for (const [name, value] of Object.entries(values))
        if (allowed.has(name) && !ordinary.has(name)) sessionVariables[name] = value
      return Object.keys(values).filter((name) => !allowed.has(name))
    },
    provideFiles: (paths) => {
      for (const path of paths) shownFiles.add(home.file(path))
    },
  }
  return access === undefined ? provided : withNetworkAccess(provided, access)
}

/** Commands see it read-only. Links above it are the user's own, and no command can change them: the sandbox hides the home. */
function resultDirectory(home: Home, lineage: SessionId): string {
  const [parent = "", name = ""] = HERMES_RESULTS.split("/")
  const cache = home.file(parent)
  const real = existsSync(cache) ? withoutLinks(cache) : join(withoutLinks(home.path), parent)
  return join(real, name, fingerprint(lineage))
}

/** The network of commands that may reach only listed hosts. */
async function limitedNetwork({ config, environment }: WorkspaceSources) {
  if (config.get("terminal.sandbox") === "off" || config.get("terminal.sandbox_network") !== "list") return undefined
  const { createNetworkAccess, PROXY_VARIABLES } = await import("../../exec/sandbox/network/network-access.ts")
  const access = createNetworkAccess({
    hosts: config.get("terminal.sandbox_hosts"),
    path: environment.get("PATH") ?? "",
    signal: new AbortController().signal,
  })
  // Elsewhere the address of the proxy is known only when the sandbox opens, which sets the variables itself.
  return { access, variables: process.platform === "linux" ? PROXY_VARIABLES : {} }
}

function withNetworkAccess(workspace: Workspace, access: NetworkAccess): Workspace {
  return {
    ...workspace,
    onUnlistedHost: (ask) => {
      access.onUnlistedHost(ask)
    },
    close: async () => {
      await workspace.close()
      access.close()
    },
    abandon: () => {
      workspace.abandon()
      access.close()
    },
  }
}

/** Applies the floor to the real path of every file that is accessed. */
function floorFor(cwd: string, results: string | undefined, sources: WorkspaceSources): FileGuard {
  const { home } = sources
  const directories = lazy(() => ({
    userHome: withoutLinks(home.userHome),
    hermesHome: withoutLinks(home.path),
    hermesRoot: withoutLinks(home.root),
    workspaceRoot: withoutLinks(cwd),
    results,
    writable: writableDirectories(cwd, sources).map(withoutLinks),
    programDirectories: pathDirectories(sources.environment),
  }))
  return async (path, access) => {
    const [{ readRefusal, writeRefusal }, { refusedDevice }] = await Promise.all([
      import("../../policy/file-floor.ts"),
      import("../../tools/file/paths/refused-path.ts"),
    ])
    if (access === "read") return refusedDevice(path) ?? readRefusal(path, directories())
    return writeRefusal(path, directories())
  }
}

/** The directories of the user's PATH, as written and with links resolved. */
export function pathDirectories(environment: Pick<Environment, "get">): readonly string[] {
  const named = directoriesOfPath(environment.get("PATH") ?? "")
  return [...new Set(named.flatMap((directory) => [directory, withoutLinks(directory)]))]
}

function withoutLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // The path does not exist.
    return path
  }
}

/** Package caches that sandboxed commands may write. None of them is on the PATH. */
const PACKAGE_CACHES = [
  ".cache",
  ".npm",
  ".cargo/registry",
  ".cargo/git",
  ".gradle/caches",
  ".m2/repository",
  "go/pkg",
  ".yarn/berry",
  ".bun/install/cache",
  ".nuget/packages",
  ".local/share/pnpm/store",
]

/** Directories of package managers that sandboxed commands may write besides the workspace. */
export function packageCaches({ userHome }: Pick<Home, "userHome">): readonly string[] {
  return PACKAGE_CACHES.map((name) => join(userHome, name))
}

function sandboxFor(
  {
    cwd,
    sandboxPaths,
    access,
    shownFiles,
  }: {
    readonly cwd: string
    readonly sandboxPaths: SandboxPaths | undefined
    readonly access: NetworkAccess | undefined
    readonly shownFiles: ReadonlySet<string>
  },
  { config, environment, home, log }: WorkspaceSources,
): OpenSandbox {
  return async ({ trial, signal }) => {
    const [{ chooseSandbox }, { socketsInEnvironment }] = await Promise.all([
      import("../../exec/sandbox/sandbox.ts"),
      import("../../exec/sandbox/environment-sockets.ts"),
    ])
    const variables = environment.toObject()
    const chosen = await chooseSandbox({
      mode: config.get("terminal.sandbox"),
      network: config.get("terminal.sandbox_network"),
      access,
      sockets: config.get("terminal.sandbox_sockets").map((path) => expandHome(path, home.userHome)),
      writable: [
        ...writableDirectories(cwd, { config, home }),
        ...(sandboxPaths?.writable ?? []),
        ...packageCaches(home),
      ],
      readOnly: [...(sandboxPaths?.readOnly ?? []), ...programDirectories(home, variables["NODE_COMPILE_CACHE"])],
      hidden: socketsInEnvironment(variables),
      shown: () => [...shownFiles],
      homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.root },
      path: environment.get("PATH") ?? "",
      trial,
      signal,
    })
    if (!chosen.ok) return fail(chosen.error)
    if (chosen.value.kind === "unavailable") log.info(chosen.value.note)
    return ok(chosen.value.kind === "on" ? chosen.value.prefix : undefined)
  }
}

/** Code that Hermes runs outside the sandbox. Commands may never write it. */
function programDirectories(home: Home, compiledByNode: string | undefined): readonly string[] {
  const own = [home.path, home.root].flatMap((path) => HERMES_PROGRAMS.map((name) => join(path, name)))
  return compiledByNode === undefined || compiledByNode === "" ? own : [...own, resolve(compiledByNode)]
}

/** Where sandboxed commands may write, apart from package caches. */
export function writableDirectories(
  cwd: string,
  { config, home }: Pick<WorkspaceSources, "config" | "home">,
): readonly string[] {
  const declared = config.get("terminal.sandbox_write").map((path) => expandHome(path, home.userHome))
  return [cwd, tmpdir(), ...declared]
}

function expandHome(path: string, userHome: string): string {
  return path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path
}

/** The limits on tool results, from the settings. */
export function toolLimits(config: Config): ToolLimits {
  return {
    readMaxChars: config.get("file_read_max_chars"),
    maxLines: config.get("tool_output.max_lines"),
    maxLineLength: config.get("tool_output.max_line_length"),
    outputMaxChars: config.get("tool_output.max_bytes"),
    commandTimeoutSeconds: config.get("terminal.timeout"),
    clarifyMaxChoices: config.get("clarify.max_choices"),
    scripts: scriptSettings(config),
  }
}

export function scriptSettings(config: Config): ScriptSettings {
  return {
    mode: config.get("code_execution.mode"),
    location: config.get("code_execution.location"),
    timeoutSeconds: config.get("code_execution.timeout"),
    maxToolCalls: config.get("code_execution.max_tool_calls"),
    maxStdoutBytes: config.get("code_execution.max_stdout_bytes"),
    maxStderrBytes: config.get("code_execution.max_stderr_bytes"),
    memoryMb: config.get("code_execution.memory_mb"),
  }
}
