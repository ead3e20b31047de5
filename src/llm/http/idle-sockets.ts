import type { Duplex } from "node:stream"

/** More than a user's conversations need, and far below the number of files that a process may open. */
const MAX_IDLE = 64

/** The connections of an app that wait for another request. Each conversation has its own, and a gateway has a thousand conversations. */
export interface IdleSockets {
  /** Closes the connection that has waited longest if there are too many. */
  add(socket: Duplex): void
  /** A request uses the connection again, or it was closed. */
  remove(socket: Duplex): void
}

export function createIdleSockets(max = MAX_IDLE): IdleSockets {
  const idle = new Set<Duplex>()
  return {
    add: (socket) => {
      idle.delete(socket)
      idle.add(socket)
      for (const oldest of idle) {
        if (idle.size <= max) break
        idle.delete(oldest)
        oldest.destroy()
      }
    },
    remove: (socket) => {
      idle.delete(socket)
    },
  }
}
