import type { Server } from "node:http"
import type { Socket } from "node:net"

/** Connections whose client has sent the API key. */
export interface KnownClients {
  add(socket: Socket): void
}

/**
 * Keeps the server open for clients with the key: when too many connections are open, the oldest one without it is closed, so half-sent
 * requests cannot lock them out.
 */
export function limitConnections(server: Server, max: number): KnownClients {
  const open = new Set<Socket>()
  const strangers = new Set<Socket>()
  server.on("connection", (socket) => {
    open.add(socket)
    strangers.add(socket)
    socket.once("close", () => {
      open.delete(socket)
      strangers.delete(socket)
    })
    const [oldest] = strangers
    if (open.size > max) oldest?.destroy()
  })
  return { add: (socket) => void strangers.delete(socket) }
}
