import { realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

import { orAborted } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import { HERMES_PROGRAMS } from "../config/protected-places.ts"
import { toolHome } from "../config/tool-home.ts"
import { commandEnvironment, visibleVariables } from "../exec/command-environment.ts"
import type { FileGuard } from "../exec/local/local-files.ts"
import { createLocalWorkspace } from "../exec/local/local-workspace.ts"
import type { OpenSandbox } from "../exec/local/shell-state-local.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolLimits } from "../toolkit/tool.ts"
import type { Walls } from "./session-options.ts"

interface WorkspaceSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
}

interface WorkspaceRequest {
  readonly cwd: string
  readonly sessionId?: SessionId
  readonly walls?: Walls
  /** Ends the opening of a place that takes its time. */
  readonly signal: AbortSignal
}

/** Where the session's commands run and its files live, as `terminal.backend` says. An error names what to do. */
export async function openWorkspace(request: WorkspaceRequest, sources: WorkspaceSources): Promise<Result<Workspace>> {
  const { config, environment, home, clock, log } = sources
  const backend = config.get("terminal.backend")
  if (backend === "local") return ok(openLocal(request, sources))
  const { openBackend } = await import("../exec/open-workspace.ts")
  return await openBackend({
    backend,
    config,
    home,
    environment: environment.toObject(),
    secret: (name) => environment.get(name),
    cwd: request.cwd,
    taskId: "default",
    clock,
    log,
    signal: request.signal,
  })
}

/** Closes a place, but waits only so long for one that does not answer: then it is left as it is. */
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
  log.warning(`the ${workspace.kind} workspace did not close in time and was left`)
  workspace.abandon()
}

const CLOSING_MS = 15_000
/** To give up on a snapshot is to lose the files. */
const KEEPING_MS = 120_000

/** Commands on this machine see a filtered environment and the home they belong to, and where it works they have walls. */
function openLocal({ cwd, sessionId, walls }: WorkspaceRequest, sources: WorkspaceSources): Workspace {
  const { config, environment, home } = sources
  const account = toolHome({ home, environment, mode: config.get("terminal.home_mode") })
  const passthrough = config.get("terminal.env_passthrough")
  const named = config.get("terminal.shell_init_files")
  const startup = named.length === 0 && config.get("terminal.auto_source_bashrc") ? {} : { startupFiles: named }
  return createLocalWorkspace({
    cwd,
    userHome: home.userHome,
    fileGuard: floorFor(home),
    persistentShell: config.get("terminal.persistent_shell"),
    startupVariables: visibleVariables(passthrough),
    ...startup,
    ...(config.get("terminal.sandbox") === "off" ? {} : { openSandbox: sandboxFor({ cwd, walls }, sources) }),
    environment: commandEnvironment(environment.toObject(), {
      passthrough,
      set: {
        HERMES_HOME: home.path,
        ...account,
        ...(sessionId === undefined ? {} : { HERMES_SESSION_ID: sessionId }),
      },
    }),
  })
}

/** The floor once more, for the file that was really reached. Files of the person with secret names are the tools' own matter. */
function floorFor(home: Home): FileGuard {
  const places = {
    userHome: withoutLinks(home.userHome),
    hermesHome: withoutLinks(home.path),
    hermesRoot: withoutLinks(home.root),
  }
  return async (path, access) => {
    const [{ isBelow, refuseRead, refuseWrite }, { refusedDevice }] = await Promise.all([
      import("../policy/file-floor.ts"),
      import("../tools/file/refused-source.ts"),
    ])
    const isOurs = isBelow(path, places.hermesHome) || isBelow(path, places.hermesRoot)
    if (access === "read") return refusedDevice(path) ?? (isOurs ? refuseRead(path, places) : undefined)
    return refuseWrite(path, places)
  }
}

function withoutLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // There is no such place; what comes there later is no link of ours.
    return path
  }
}

/** What package managers keep between builds; nothing that is run from there is on the PATH. */
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

function sandboxFor(
  { cwd, walls }: { readonly cwd: string; readonly walls: Walls | undefined },
  { config, environment, home, log }: WorkspaceSources,
): OpenSandbox {
  return async ({ trial, signal }) => {
    const [{ chooseSandbox }, { namedSockets }] = await Promise.all([
      import("../exec/sandbox/choose-sandbox.ts"),
      import("../exec/sandbox/named-sockets.ts"),
    ])
    const variables = environment.toObject()
    const chosen = await chooseSandbox({
      mode: config.get("terminal.sandbox"),
      network: config.get("terminal.sandbox_network"),
      writable: [
        ...writablePlaces(cwd, { config, home }),
        ...(walls?.writable ?? []),
        ...PACKAGE_CACHES.map((name) => join(home.userHome, name)),
      ],
      readOnly: [...(walls?.readOnly ?? []), ...programPlaces(home, variables["NODE_COMPILE_CACHE"])],
      hidden: namedSockets(variables),
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

/** Code that Hermes runs outside of the sandbox. It is no command's to write, wherever it lies. */
function programPlaces(home: Home, compiledByNode: string | undefined): readonly string[] {
  const own = [home.path, home.root].flatMap((path) => HERMES_PROGRAMS.map((name) => join(path, name)))
  return compiledByNode === undefined || compiledByNode === "" ? own : [...own, resolve(compiledByNode)]
}

/** Where commands in the sandbox may write, beside the caches of package managers. */
export function writablePlaces(
  cwd: string,
  { config, home }: Pick<WorkspaceSources, "config" | "home">,
): readonly string[] {
  const declared = config.get("terminal.sandbox_write").map((path) => expandHome(path, home.userHome))
  return [cwd, tmpdir(), ...declared]
}

function expandHome(path: string, userHome: string): string {
  return path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path
}

/** What the settings allow a tool to return. */
export function limitsOf(config: Config): ToolLimits {
  return {
    readMaxChars: config.get("file_read_max_chars"),
    maxLines: config.get("tool_output.max_lines"),
    maxLineLength: config.get("tool_output.max_line_length"),
    outputMaxChars: config.get("tool_output.max_bytes"),
    commandTimeoutSeconds: config.get("terminal.timeout"),
    clarifyMaxChoices: config.get("clarify.max_choices"),
  }
}
