import { mkdirSync } from "node:fs"
import { join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import type { Logger } from "../../base/logger.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { createIdleTimeout } from "../remote/idle-timeout.ts"
import { createRemoteWorkspace } from "../remote/remote-workspace.ts"
import type { SyncRequest } from "../remote/remote-workspace.ts"
import type { Transport, TransportFailure } from "../remote/transport.ts"
import { readWorkspaceFacts } from "../remote/workspace-facts.ts"
import { lastLine } from "../run-program.ts"
import type { Workspace } from "../workspace.ts"
import { checkVolume, runArguments, sanitiseTaskId, targetOf } from "./container-arguments.ts"
import type { ContainerPlan, ReadOnlyBind } from "./container-arguments.ts"
import { findEngine } from "./container-engine.ts"
import type { ContainerEngine } from "./container-engine.ts"
import {
  canLimitDisk,
  ensureContainer,
  inspectImage,
  isHealthy,
  reapOrphans,
  removeContainer,
  stopContainer,
} from "./container-lifecycle.ts"

export interface ContainerOptions {
  /** The environment of the docker or podman client. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  readonly image: string
  readonly taskId: string
  readonly profile: string
  /** `<home>/sandboxes/docker`: persistent files and locks of the containers. */
  readonly sandboxes: string
  /** Keeps files when the container is removed. */
  readonly isPersistent: boolean
  /** Another session of this process uses the container and removes it. */
  readonly isBorrowed?: boolean
  /** Keeps the container running when this process exits. */
  readonly survivesProcess: boolean
  readonly removesOrphans: boolean
  readonly lifetimeSeconds: number
  readonly cpus: number
  readonly memoryMb: number
  readonly diskMb: number
  readonly network: boolean
  readonly runsAsHostUser: boolean
  readonly workspaceBind: string | undefined
  /** Credential files, skills and caches that commands may read. */
  readonly readOnlyBinds: readonly ReadOnlyBind[]
  readonly volumes: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  /** Variables for commands whose values must not appear in a process list. */
  readonly forwarded: Readonly<Record<string, string>>
  readonly extraArguments: readonly string[]
  /** For files that cannot be mounted, because they are provided while the container runs. */
  readonly sync?: SyncRequest
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Opens the task's container and creates it if necessary. The error says what to do. */
export async function openContainerWorkspace(options: ContainerOptions): Promise<Result<Workspace>> {
  const found = await findEngine({
    environment: options.clientEnvironment,
    signal: options.signal,
  })
  if (!found.ok) return found
  const engine = found.value
  const planned = await planContainer(engine, options)
  if (!planned.ok) return planned
  const container = createTaskContainer(engine, planned.value, options)
  if (options.removesOrphans) await container.reap()
  const opened = await container.open(options.signal)
  if (!opened.ok) return opened
  const transport = containerTransport(engine, container, options.forwarded)
  const facts = await readWorkspaceFacts(transport, { signal: options.signal, timeoutMs: 60_000 })
  if (!facts.ok) return fail(`the container started but cannot run commands: ${facts.error}`)
  const workspace = createRemoteWorkspace({
    kind: "docker",
    isContainer: true,
    transport,
    facts: facts.value,
    cwd: "/workspace",
    startupFiles: options.startupFiles,
    persistentShell: options.persistentShell,
    sync: options.sync,
    release: container.release,
  })
  return ok(container.track(workspace))
}

/** Determines the container's arguments, querying the engine where necessary. */
async function planContainer(engine: ContainerEngine, options: ContainerOptions): Promise<Result<ContainerPlan>> {
  const image = await inspectImage(engine, options.image, options.signal)
  if (!image.ok) return image
  const taskId = sanitiseTaskId(options.taskId)
  const directory = join(options.sandboxes, taskId)
  const volumes = acceptedVolumes(options)
  const limitsDisk = options.diskMb > 0 && (await canLimitDisk(engine, options.image, options.signal))
  const plan: ContainerPlan = {
    name: "",
    image: options.image,
    hasOwnInit: image.value.hasOwnInit,
    cpus: options.cpus,
    memoryMb: options.memoryMb,
    diskMb: limitsDisk ? options.diskMb : undefined,
    network: options.network,
    hostUser: options.runsAsHostUser ? hostUser() : undefined,
    taskId,
    profile: options.profile,
    storage: options.isPersistent
      ? { kind: "kept", home: join(directory, "home"), workspace: join(directory, "workspace") }
      : { kind: "temporary" },
    workspaceBind: volumes.some((volume) => targetOf(volume) === "/workspace") ? undefined : options.workspaceBind,
    readOnlyBinds: options.readOnlyBinds,
    volumes,
    variables: options.variables,
    extraArguments: options.extraArguments,
  }
  return ok({ ...plan, name: `hermes-${sha256Hex(runArguments(plan).join("\0")).slice(0, 12)}` })
}

function acceptedVolumes({ volumes, log }: ContainerOptions): readonly string[] {
  return volumes.filter((volume) => {
    const check = checkVolume(volume)
    if (check.kind === "skipped") log.warning(`${check.why}; it is ignored`)
    return check.kind === "accepted"
  })
}

function hostUser(): string | undefined {
  const uid = process.getuid?.()
  return uid === undefined ? undefined : `${uid}:${process.getgid?.() ?? uid}`
}

/** Manages the container of one task: creates, restarts, suspends and releases it. */
function createTaskContainer(engine: ContainerEngine, plan: ContainerPlan, options: ContainerOptions) {
  let id: string | undefined
  let isClosed = false
  const never = new AbortController().signal

  const open = async (signal: AbortSignal): Promise<Result<string>> => {
    try {
      if (plan.storage.kind === "kept") {
        for (const directory of [plan.storage.home, plan.storage.workspace]) mkdirSync(directory, { recursive: true })
      }
      mkdirSync(options.sandboxes, { recursive: true })
      const lock = join(options.sandboxes, `${plan.taskId}.lock`)
      const ensured = await withFileLock(
        lock,
        { waitMs: LOCK_WAIT_MS, signal },
        async () => await ensureContainer(engine, plan, signal),
      )
      if (ensured.ok) id = ensured.value
      return ensured
    } catch (error) {
      return fail(`the container cannot be opened: ${errorMessage(error)}`)
    }
  }
  const stopOrRemove = async (current: string): Promise<void> => {
    if (options.isPersistent) await stopContainer(engine, current, never)
    else await removeContainer(engine, current, never)
  }
  const resume = async (signal: AbortSignal): Promise<Result<undefined>> => {
    const opened = await open(signal)
    return opened.ok ? ok(undefined) : opened
  }
  const idleTimeout = createIdleTimeout({
    ...options,
    suspend: async () => {
      const current = id
      id = undefined
      if (current !== undefined) await stopOrRemove(current)
    },
    resume,
  })
  return {
    /** Returns the id for a call that follows immediately, and records the use. */
    id: () => {
      idleTimeout.touch()
      return id ?? plan.name
    },
    open,
    /** Restores the container if the failure means that it is gone. Undefined for other failures. */
    reopen: async (failure: TransportFailure, signal: AbortSignal): Promise<Result<undefined> | undefined> => {
      if (isClosed || !isGone(failure)) return undefined
      return (await idleTimeout.resume(signal)) ?? (await resume(signal))
    },
    reap: async (): Promise<void> => {
      const olderThanMs = 2 * options.lifetimeSeconds * 1000
      const removed = await reapOrphans(engine, { ...options, olderThanMs })
      if (removed > 0) options.log.info(`removed ${removed} unused containers`)
    },
    release: async (): Promise<void> => {
      isClosed = true
      idleTimeout.stop()
      const current = id
      id = undefined
      if (current === undefined || options.isBorrowed === true) return
      if (options.survivesProcess && (await isHealthy(engine, current, never))) return
      await stopOrRemove(current)
    },
    track: idleTimeout.track,
  }
}

const LOCK_WAIT_MS = 120_000

/** Matches the messages of docker and podman. A stopped container counts as gone, because `reopen` restarts it. */
function isGone({ stderr }: TransportFailure): boolean {
  return /no such container|no container with name or id|is not running|container state improper|can only create exec sessions on running/i.test(
    stderr,
  )
}

function containerTransport(
  engine: ContainerEngine,
  container: ReturnType<typeof createTaskContainer>,
  forwarded: Readonly<Record<string, string>>,
): Transport {
  const variables = Object.keys(forwarded).flatMap((name) => ["--env", name])
  return {
    name: "container",
    environment: { ...engine.environment, ...forwarded },
    pipesInput: true,
    commandLine: (script, args) => [
      engine.program,
      "exec",
      "--interactive",
      ...variables,
      container.id(),
      "sh",
      "-c",
      script,
      "hermes",
      ...args,
    ],
    explain: (failure) => explainContainer(failure, container.id()),
    reopen: container.reopen,
  }
}

function explainContainer(failure: TransportFailure, id: string): string {
  if (failure.notStarted !== undefined) return `the container engine cannot be started: ${failure.notStarted}`
  if (isGone(failure)) return `the container ${id.slice(0, 12)} is gone`
  const message = lastLine(failure.stderr)
  if (/cannot connect to the docker daemon|connection refused/i.test(message)) {
    return "the container engine does not respond; start it, then try again"
  }
  return `the container ${id.slice(0, 12)} did not respond${message === "" ? "" : `: ${message}`}`
}
