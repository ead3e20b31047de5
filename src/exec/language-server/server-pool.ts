import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import { watchDirectories } from "../watcher/directory-watch.ts"
import type { DirectoryWatch } from "../watcher/directory-watch.ts"
import type { Workspace } from "../workspace.ts"
import type { createBrokenServers } from "./broken-servers.ts"
import type { FoundServer } from "./find-server.ts"
import { createOpenDocuments } from "./open-documents.ts"
import type { OpenDocuments } from "./open-documents.ts"
import { runServer } from "./running-server.ts"
import type { RunningServer } from "./running-server.ts"

/** A server with its documents, shared by all edits of one project. */
export interface PooledServer {
  readonly running: RunningServer
  readonly documents: OpenDocuments
  /** How many waits for this server have timed out in a row. */
  consecutiveTimeouts: number
}

export interface PoolOptions {
  readonly start: Workspace["start"]
  readonly modules: string
  readonly version: string
  readonly broken: ReturnType<typeof createBrokenServers>
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<PoolLimits>
}

export interface PoolLimits {
  /** Time limit for the response to `initialize`. */
  readonly startMs: number
  /** A server that has not been used for this time is stopped. */
  readonly idleMs: number
}

const LIMITS: PoolLimits = { startMs: 45_000, idleMs: 600_000 }
const MAX_SERVERS = 6
const MAX_WATCHED_DIRECTORIES = 20_000

export type ServerPool = ReturnType<typeof createServerPool>

/** The running servers of a session, one for each kind and project root. A server that fails is not started again for an hour. */
export function createServerPool(options: PoolOptions) {
  const { broken, log } = options
  const limits = { ...LIMITS, ...options.limits }
  const servers = new Map<string, PooledServer & { restartIdleTimer(): void; stop(): Promise<void> }>()
  let order = 0
  const nextOrder = (): number => (order += 1)
  let closed = false

  const launch = (key: string, found: FoundServer) => {
    const { name } = found.server
    log.info(`starting language server ${name} for ${found.root}: ${found.command.join(" ")}`)
    const running = runServer(found, { ...options, startMs: limits.startMs, nextOrder })
    const documents = createOpenDocuments(running, nextOrder)
    let stopping = false
    let watch: DirectoryWatch | undefined
    let idle: NodeJS.Timeout | undefined
    const stop = async (): Promise<void> => {
      stopping = true
      clearTimeout(idle)
      servers.delete(key)
      await running.kill()
    }
    const pooled = {
      running,
      documents,
      consecutiveTimeouts: 0,
      stop,
      restartIdleTimer: () => {
        clearTimeout(idle)
        idle = setTimeout(() => {
          log.info(`stopping idle language server ${name}`)
          stop().catch(reportFailedStop)
        }, limits.idleMs)
        idle.unref()
        // The server wants to be notified of file changes, including those by commands and other programs.
        if (running.watchesFiles()) watch ??= watchFor(found, documents)
      },
    }
    running.ended
      .then((why) => {
        watch?.close()
        clearTimeout(idle)
        if (servers.get(key) === pooled) servers.delete(key)
        if (stopping) return
        broken.add(name, found.root, why)
        log.warning(`language server ${name} failed in ${found.root} and is not started again for an hour: ${why}`)
      })
      .catch(reportFailedStop)
    servers.set(key, pooled)
    return pooled
  }
  const reportFailedStop = (error: unknown): void => {
    log.warning(`cannot stop a language server: ${errorMessage(error)}`)
  }

  return {
    /** Returns the server for a file and starts it if necessary. Returns undefined for a server that has failed. */
    acquire: (found: FoundServer): PooledServer | undefined => {
      const key = `${found.server.name}\0${found.root}`
      const known = servers.get(key)
      if (known === undefined && (closed || broken.has(found.server.name, found.root))) return undefined
      const pooled = known ?? launch(key, found)
      // Keeps the map ordered by last use.
      servers.delete(key)
      servers.set(key, pooled)
      pooled.restartIdleTimer()
      const [oldest] = servers.values()
      if (servers.size > MAX_SERVERS) oldest?.stop().catch(reportFailedStop)
      return pooled
    },
    close: async (): Promise<void> => {
      closed = true
      await Promise.all([...servers.values()].map((pooled) => pooled.stop()))
    },
  }
}

function watchFor({ root }: FoundServer, documents: OpenDocuments): DirectoryWatch {
  return watchDirectories(root, {
    maxDirectories: MAX_WATCHED_DIRECTORIES,
    onChange: (path) => {
      documents.markChanged(path)
    },
  })
}
