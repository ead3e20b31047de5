import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Workspace } from "../workspace.ts"
import { createIdleWatch } from "./idle-watch.ts"
import type { IdleWatch } from "./idle-watch.ts"
import { askPlaceFacts } from "./place-facts.ts"
import { createRemoteWorkspace } from "./remote-workspace.ts"
import type { SyncRequest } from "./remote-workspace.ts"
import type { Transport } from "./transport.ts"

/** What every service that rents out sandboxes is told. */
export interface RentedSandboxOptions {
  readonly clientEnvironment: Readonly<Record<string, string>>
  readonly image: string
  readonly taskId: string
  readonly isPersistent: boolean
  readonly cpus: number
  readonly memoryMb: number
  /** A sandbox that nobody has used for so long is given up until it is needed; 0 never. */
  readonly lifetimeSeconds: number
  readonly clock: Clock
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly sync?: SyncRequest | undefined
  readonly log: Logger
  readonly signal: AbortSignal
}

/** How one service gives a sandbox up, brings it back and runs commands in it. */
export interface RentedSandbox {
  readonly kind: "daytona" | "modal"
  readonly giveUp: () => Promise<void>
  readonly wake: (signal: AbortSignal) => Promise<Result<undefined>>
  readonly transport: (watch: IdleWatch) => Transport
}

/** The workspace in a sandbox that runs: given up while nobody uses it, and at the end. */
export async function workspaceInRented(
  { kind, giveUp, wake, ...sandbox }: RentedSandbox,
  options: RentedSandboxOptions,
): Promise<Result<Workspace>> {
  const { startupFiles, persistentShell, sync } = options
  const watch = createIdleWatch({ ...options, rest: giveUp, wake })
  const transport = sandbox.transport(watch)
  const facts = await askPlaceFacts(transport, { signal: options.signal, timeoutMs: 60_000 })
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
      const isGivenUp = watch.isResting()
      watch.stop()
      if (!isGivenUp) await giveUp()
    },
  })
  return ok(watch.watched(workspace))
}
