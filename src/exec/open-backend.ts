import { existsSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assertNever } from "../base/assert-never.ts"
import type { Clock } from "../base/clock.ts"
import { withFileLock } from "../base/file-lock.ts"
import type { Logger } from "../base/logger.ts"
import { fail } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { HERMES_INSTRUCTIONS, HERMES_PROGRAMS, HERMES_PROTECTED, HERMES_SECRETS } from "../config/protected-paths.ts"
import { visibleVariables } from "./command-environment.ts"
import { sanitiseTaskId } from "./container/container-arguments.ts"
import type { ReadOnlyBind } from "./container/container-arguments.ts"
import { credentialFile } from "./credential-file.ts"
import type { SyncRequest } from "./remote/remote-workspace.ts"
import type { SyncedPaths } from "./remote/synced-files.ts"
import type { Workspace } from "./workspace.ts"

export type BackendName = "docker" | "ssh" | "singularity" | "modal" | "daytona"

export interface OpenBackendOptions {
  readonly backend: BackendName
  readonly config: Config
  readonly home: Home
  /** The full environment of this process: docker, ssh and the other clients need it to find their own configuration. */
  readonly environment: Readonly<Record<string, string>>
  /** Reads values from `.env` for variables that are forwarded into a container. */
  readonly secret: (name: string) => string | undefined
  /** The directory Hermes was started in. */
  readonly cwd: string
  /** Sub-agents share their parent's workspace: "default" unless a task has a separate one. */
  readonly taskId: string
  /** It belongs to another session of this process, which suspends and closes it. */
  readonly isBorrowed: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Opens the workspace that `terminal.backend` selects. The error is one sentence that says what to do. */
export async function openBackend(options: OpenBackendOptions): Promise<Result<Workspace>> {
  switch (options.backend) {
    case "docker": {
      const { openContainerWorkspace } = await import("./container/container-workspace.ts")
      return await openContainerWorkspace(containerOptions(options))
    }
    case "ssh": {
      const { openSshWorkspace } = await import("./remote/ssh-workspace.ts")
      return await openSshWorkspace({ ...sshOptions(options), sync: syncRequest(options) })
    }
    case "singularity": {
      const { openSingularityWorkspace } = await import("./singularity/singularity-workspace.ts")
      const image = imageOf(options, "terminal.singularity_image")
      const sandboxes = options.home.file("sandboxes", "singularity")
      const address = image.includes("://") || image.startsWith("/") ? image : `docker://${image}`
      const binds = { readOnlyBinds: readOnlyBinds(options), sync: providedFilesOnly(options) }
      return await withTaskLock(options, () =>
        openSingularityWorkspace({ ...sharedOptions(options), ...binds, image: address, sandboxes }),
      )
    }
    case "modal": {
      const { openModalWorkspace } = await import("./modal/modal-workspace.ts")
      return await openModalWorkspace({
        ...sharedOptions(options),
        image: imageOf(options, "terminal.modal_image"),
        snapshotFile: options.home.file("modal_snapshots.json"),
        sync: syncRequest(options),
      })
    }
    case "daytona": {
      const { openDaytonaWorkspace } = await import("./daytona/daytona-workspace.ts")
      const image = imageOf(options, "terminal.daytona_image")
      return await withTaskLock(options, () =>
        openDaytonaWorkspace({ ...sharedOptions(options), image, sync: syncRequest(options) }),
      )
    }
    default:
      return assertNever(options.backend)
  }
}

/** Keeps two processes from creating the sandbox of one task at the same time. The docker backend takes its own lock. */
async function withTaskLock(
  { backend, home, taskId, signal }: OpenBackendOptions,
  open: () => Promise<Result<Workspace>>,
): Promise<Result<Workspace>> {
  const folder = home.file("sandboxes", backend)
  try {
    mkdirSync(folder, { recursive: true })
    const lock = join(folder, `${sanitiseTaskId(taskId)}.lock`)
    return await withFileLock(lock, { waitMs: LOCK_WAIT_MS, signal }, open)
  } catch (error) {
    return fail(`the ${backend} sandbox cannot be opened: ${errorMessage(error)}`)
  }
}

const LOCK_WAIT_MS = 120_000

/** The options that all backends share. */
function sharedOptions({ config, environment, taskId, isBorrowed, clock, log, signal }: OpenBackendOptions) {
  const named = config.get("terminal.shell_init_files")
  return {
    clientEnvironment: environment,
    taskId: sanitiseTaskId(taskId),
    isBorrowed,
    isPersistent: config.get("terminal.container_persistent"),
    cpus: config.get("terminal.container_cpu"),
    memoryMb: config.get("terminal.container_memory"),
    diskMb: config.get("terminal.container_disk"),
    startupFiles: named.length > 0 ? named : config.get("terminal.auto_source_bashrc") ? undefined : [],
    persistentShell: config.get("terminal.persistent_shell"),
    lifetimeSeconds: isBorrowed ? 0 : config.get("terminal.lifetime_seconds"),
    clock,
    log,
    signal,
  }
}

function containerOptions(options: OpenBackendOptions) {
  const { config, home } = options
  return {
    ...sharedOptions(options),
    image: config.get("terminal.docker_image"),
    profile: home.profile,
    sandboxes: home.file("sandboxes", "docker"),
    survivesProcess: config.get("terminal.docker_persist_across_processes"),
    removesOrphans: config.get("terminal.docker_orphan_reaper"),
    network: config.get("terminal.docker_network"),
    runsAsHostUser: config.get("terminal.docker_run_as_host_user"),
    workspaceBind: config.get("terminal.docker_mount_cwd_to_workspace") ? options.cwd : undefined,
    readOnlyBinds: readOnlyBinds(options),
    volumes: config.get("terminal.docker_volumes"),
    variables: textValues(config.get("terminal.docker_env")),
    forwarded: forwardedValues(options),
    extraArguments: config.get("terminal.docker_extra_args"),
    sync: providedFilesOnly(options),
  }
}

function sshOptions(options: OpenBackendOptions) {
  const { config, home } = options
  const key = config.get("terminal.ssh_key")
  return {
    ...sharedOptions(options),
    host: config.get("terminal.ssh_host"),
    user: config.get("terminal.ssh_user"),
    port: config.get("terminal.ssh_port"),
    keyFile: key.startsWith("~/") ? join(home.userHome, key.slice(2)) : key,
    cwd: config.get("terminal.cwd"),
    temporaryDirectory: tmpdir(),
  }
}

function imageOf(
  { config }: OpenBackendOptions,
  key: "terminal.singularity_image" | "terminal.modal_image" | "terminal.daytona_image",
): string {
  const named = config.get(key)
  return named === "" ? config.get("terminal.docker_image") : named
}

/** Variables that the user listed for forwarding. `terminal.env_passthrough` never forwards one of Hermes' own credentials. */
function forwardedValues({ config, environment, secret, log }: OpenBackendOptions): Record<string, string> {
  const passthrough = config.get("terminal.env_passthrough")
  const allowed = new Set(visibleVariables(passthrough))
  const names = new Set(config.get("terminal.docker_forward_env").filter((name) => /^[A-Za-z_]\w*$/.test(name)))
  for (const name of passthrough) {
    if (allowed.has(name)) names.add(name)
    else log.warning(`terminal.env_passthrough lists ${name}, which is never passed to commands`)
  }
  // The environment of this process takes precedence over `.env`.
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const value = environment[name] ?? secret(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function textValues(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" || typeof value === "boolean"
        ? [[name, String(value)]]
        : [],
    ),
  )
}

const CONTAINER_HOME = "/root/.hermes"
const SHARED_DIRECTORIES = ["skills"]
const SHARED_CACHES = ["cache/documents", "cache/images", "cache/audio", "cache/screenshots"]

/** Skills, caches and configured credential files that exist, bound to the same paths below the home in the container. */
function readOnlyBinds(options: OpenBackendOptions): readonly ReadOnlyBind[] {
  const { home } = options
  return [...SHARED_DIRECTORIES, ...SHARED_CACHES, ...credentialFiles(options)]
    .filter((name) => existsSync(home.file(name)))
    .map((name) => ({ source: home.file(name), target: `${CONTAINER_HOME}/${name}` }))
}

/** The same files for workspaces that cannot mount this machine's disk: copies are kept in sync there. */
function syncRequest(options: OpenBackendOptions): SyncRequest {
  return requestFor(options, {
    directories: SHARED_DIRECTORIES,
    caches: SHARED_CACHES,
    files: credentialFiles(options),
  })
}

/** A container mounts the rest, but its mounts cannot change while it runs. */
function providedFilesOnly(options: OpenBackendOptions): SyncRequest {
  return requestFor(options, { directories: [], caches: [], files: [] })
}

function requestFor(
  { home, isBorrowed, clock, log }: OpenBackendOptions,
  synced: Pick<SyncedPaths, "directories" | "caches" | "files">,
): SyncRequest {
  const paths = {
    home: home.path,
    ...synced,
    provided: [],
    except: HERMES_SECRETS,
    neverDownloaded: [...HERMES_SECRETS, ...HERMES_PROTECTED, ...HERMES_PROGRAMS, ...HERMES_INSTRUCTIONS],
  }
  return { paths, isBorrowed, clock, log }
}

function credentialFiles({ config, home, log }: OpenBackendOptions): readonly string[] {
  return config.get("terminal.credential_files").flatMap((entry) => {
    const checked = credentialFile(entry, home.path)
    if (!checked.ok) log.warning(checked.error)
    return checked.ok ? [checked.value] : []
  })
}
