import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Workspace } from "../workspace.ts"
import { createIdleTimeout } from "./idle-timeout.ts"
import type { IdleTimeout } from "./idle-timeout.ts"
import { createRemoteWorkspace } from "./remote-workspace.ts"
import type { SyncRequest } from "./remote-workspace.ts"
import type { Transport } from "./transport.ts"
import { readWorkspaceFacts } from "./workspace-facts.ts"

/** The options that all cloud sandbox services share. */
export interface CloudSandboxOptions {
  readonly clientEnvironment: Readonly<Record<string, string>>
  readonly image: string
  readonly taskId: string
  readonly isPersistent: boolean
  /** Another session of this process uses the sandbox and suspends it. */
  readonly isBorrowed?: boolean
  readonly cpus: number
  readonly memoryMb: number
  /** An idle sandbox is suspended after this time; 0 never. */
  readonly lifetimeSeconds: number
  readonly clock: Clock
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly sync?: SyncRequest | undefined
  readonly log: Logger
  readonly signal: AbortSignal
}

/** How a service suspends and resumes a sandbox and runs commands in it. */
export interface CloudSandbox {
  readonly kind: "daytona" | "modal"
  readonly suspend: () => Promise<void>
  readonly resume: (signal: AbortSignal) => Promise<Result<undefined>>
  readonly transport: (idleTimeout: IdleTimeout) => Transport
}

/** Creates the workspace in a running sandbox. The sandbox is suspended while it is idle and when the workspace closes. */
export async function createCloudWorkspace(
  { kind, suspend, resume, ...sandbox }: CloudSandbox,
  options: CloudSandboxOptions,
): Promise<Result<Workspace>> {
  const { startupFiles, persistentShell, sync } = options
  const idleTimeout = createIdleTimeout({ ...options, suspend, resume })
  const transport = sandbox.transport(idleTimeout)
  const facts = await readWorkspaceFacts(transport, { signal: options.signal, timeoutMs: 60_000 })
  if (!facts.ok) return facts
  const workspace = createRemoteWorkspace({
    kind,
    isContainer: true,
    transport,
    facts: facts.value,
    cwd: facts.value.cwd,
    startupFiles,
    persistentShell,
    sync,
    release: async () => {
      const isSuspended = idleTimeout.isSuspended()
      idleTimeout.stop()
      if (!isSuspended && options.isBorrowed !== true) await suspend()
    },
  })
  return ok(idleTimeout.track(workspace))
}
