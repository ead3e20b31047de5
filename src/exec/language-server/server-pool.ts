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
  /** How often in a row it was waited for in vain. */
  fruitless: number
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
  /** How long a server may take to answer `initialize`. */
  readonly startMs: number
  /** A server that nobody has asked for so long is ended. */
  readonly idleMs: number
}

const LIMITS: PoolLimits = { startMs: 45_000, idleMs: 600_000 }
const MAX_SERVERS = 6
const MAX_WATCHED_DIRECTORIES = 20_000

export type ServerPool = ReturnType<typeof createServerPool>

/** The running servers of a session, one for each kind and project root. One that fails is left alone from then on. */
export function createServerPool(options: PoolOptions) {
  const { broken, log } = options
  const limits = { ...LIMITS, ...options.limits }
  const servers = new Map<string, PooledServer & { rest(): void; stop(): Promise<void> }>()
  let order = 0
  const nextOrder = (): number => (order += 1)
  let closed = false

  const launch = (key: string, found: FoundServer) => {
    const { name } = found.server
    log.info(`language server ${name} is started for ${found.root}: ${found.command.join(" ")}`)
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
      fruitless: 0,
      stop,
      /** It was used: the time until it counts as idle begins again. */
      rest: () => {
        clearTimeout(idle)
        idle = setTimeout(() => {
          log.info(`language server ${name} is ended: nobody has asked it for a while`)
          stop().catch(reportFailedStop)
        }, limits.idleMs)
        idle.unref()
        // What commands and others do to the files is told to servers that want to hear of it.
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
        log.warning(`language server ${name} is left alone for an hour in ${found.root}: ${why}`)
      })
      .catch(reportFailedStop)
    servers.set(key, pooled)
    return pooled
  }
  const reportFailedStop = (error: unknown): void => {
    log.warning(`a language server could not be ended: ${errorMessage(error)}`)
  }

  return {
    /** The server for a file, started if need be. Undefined for one that has failed. */
    take: (found: FoundServer): PooledServer | undefined => {
      const key = `${found.server.name}\0${found.root}`
      const known = servers.get(key)
      if (known === undefined && (closed || broken.has(found.server.name, found.root))) return undefined
      const pooled = known ?? launch(key, found)
      // The order of the map is the order of use.
      servers.delete(key)
      servers.set(key, pooled)
      pooled.rest()
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
      documents.noteChange(path)
    },
  })
}
