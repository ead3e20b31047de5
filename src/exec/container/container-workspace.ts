import { mkdirSync } from "node:fs"
import { join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import type { Logger } from "../../base/logger.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { createIdleWatch } from "../remote/idle-watch.ts"
import { askPlaceFacts } from "../remote/place-facts.ts"
import { createRemoteWorkspace } from "../remote/remote-workspace.ts"
import type { Transport, TransportFailure } from "../remote/transport.ts"
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
} from "./container-life.ts"

export interface ContainerOptions {
  /** The environment of docker or podman itself. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  /** HERMES_DOCKER_BINARY. */
  readonly program: string | undefined
  readonly image: string
  readonly taskId: string
  readonly profile: string
  /** `<home>/sandboxes/docker`: kept files and locks of the containers. */
  readonly sandboxes: string
  /** Files survive the container. */
  readonly isPersistent: boolean
  /** The container itself survives this process. */
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
  /** Values for commands that must not be seen in a process list. */
  readonly forwarded: Readonly<Record<string, string>>
  readonly extraArguments: readonly string[]
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Opens the task's container, or makes it. The error names what to do. */
export async function openContainerWorkspace(options: ContainerOptions): Promise<Result<Workspace>> {
  const found = await findEngine({
    environment: options.clientEnvironment,
    named: options.program,
    signal: options.signal,
  })
  if (!found.ok) return found
  const engine = found.value
  const planned = await planContainer(engine, options)
  if (!planned.ok) return planned
  const keeper = createKeeper(engine, planned.value, options)
  if (options.removesOrphans) await keeper.reap()
  const opened = await keeper.open(options.signal)
  if (!opened.ok) return opened
  const transport = containerTransport(engine, keeper, options.forwarded)
  const facts = await askPlaceFacts(transport, { signal: options.signal, timeoutMs: 60_000 })
  if (!facts.ok) return fail(`the container started but runs no commands: ${facts.error}`)
  const workspace = createRemoteWorkspace({
    kind: "docker",
    isContainer: true,
    transport,
    facts: facts.value,
    cwd: "/workspace",
    startupFiles: options.startupFiles,
    persistentShell: options.persistentShell,
    release: keeper.release,
  })
  return ok(keeper.watched(workspace))
}

/** The plan for the container; what the engine must be asked is asked here. */
async function planContainer(engine: ContainerEngine, options: ContainerOptions): Promise<Result<ContainerPlan>> {
  const image = await inspectImage(engine, options.image, options.signal)
  if (!image.ok) return image
  const taskId = sanitiseTaskId(options.taskId)
  const folder = join(options.sandboxes, taskId)
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
      ? { kind: "kept", home: join(folder, "home"), workspace: join(folder, "workspace") }
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
    if (check.kind === "skipped") log.warning(`${check.why}; it is left out`)
    return check.kind === "accepted"
  })
}

function hostUser(): string | undefined {
  const uid = process.getuid?.()
  return uid === undefined ? undefined : `${uid}:${process.getgid?.() ?? uid}`
}

/** Holds the container of one task: makes it, brings it back, stops it when nobody uses it, gives it up. */
function createKeeper(engine: ContainerEngine, plan: ContainerPlan, options: ContainerOptions) {
  let id: string | undefined
  let isClosed = false
  const never = new AbortController().signal

  const open = async (signal: AbortSignal): Promise<Result<string>> => {
    try {
      if (plan.storage.kind === "kept") {
        for (const folder of [plan.storage.home, plan.storage.workspace]) mkdirSync(folder, { recursive: true })
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
  const giveUp = async (current: string): Promise<void> => {
    if (options.isPersistent) await stopContainer(engine, current, never)
    else await removeContainer(engine, current, never)
  }
  const openAgain = async (signal: AbortSignal): Promise<Result<undefined>> => {
    const opened = await open(signal)
    return opened.ok ? ok(undefined) : opened
  }
  const watch = createIdleWatch({
    ...options,
    rest: async () => {
      const current = id
      id = undefined
      if (current !== undefined) await giveUp(current)
    },
    wake: openAgain,
  })
  return {
    /** For a call that is about to be made. */
    id: () => {
      watch.touch()
      return id ?? plan.name
    },
    open,
    /** Brings the container back when that was what was missing. */
    reopen: async (failure: TransportFailure, signal: AbortSignal): Promise<Result<undefined> | undefined> => {
      if (isClosed || !isGone(failure)) return undefined
      return (await watch.wake(signal)) ?? (await openAgain(signal))
    },
    reap: async (): Promise<void> => {
      const olderThanMs = 2 * options.lifetimeSeconds * 1000
      const removed = await reapOrphans(engine, { ...options, olderThanMs })
      if (removed > 0) options.log.info(`removed ${removed} containers that nobody used any more`)
    },
    release: async (): Promise<void> => {
      isClosed = true
      watch.stop()
      const current = id
      id = undefined
      if (current === undefined) return
      if (options.survivesProcess && (await isHealthy(engine, current, never))) return
      await giveUp(current)
    },
    watched: (workspace: Workspace): Workspace => watch.watched(workspace),
  }
}

const LOCK_WAIT_MS = 120_000

/** In the words of docker and of podman. A stopped one counts too: it is started again. */
function isGone({ stderr }: TransportFailure): boolean {
  return /no such container|no container with name or id|is not running|container state improper|can only create exec sessions on running/i.test(
    stderr,
  )
}

function containerTransport(
  engine: ContainerEngine,
  keeper: ReturnType<typeof createKeeper>,
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
      keeper.id(),
      "sh",
      "-c",
      script,
      "hermes",
      ...args,
    ],
    explain: (failure) => explainContainer(failure, keeper.id()),
    reopen: keeper.reopen,
  }
}

function explainContainer(failure: TransportFailure, id: string): string {
  if (failure.notStarted !== undefined) return `the container engine cannot be started: ${failure.notStarted}`
  if (isGone(failure)) return `the container ${id.slice(0, 12)} is gone`
  const said = failure.stderr.trim().split("\n").at(-1) ?? ""
  if (/cannot connect to the docker daemon|connection refused/i.test(said)) {
    return "the container engine does not answer; start it, then try again"
  }
  return `the container ${id.slice(0, 12)} did not answer${said === "" ? "" : `: ${said.slice(0, 300)}`}`
}
