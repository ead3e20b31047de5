import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { text } from "node:stream/consumers"

import { expect, test } from "vitest"

import { openHttpConnection } from "./http-connection.ts"
import type { HttpConnection } from "./http-connection.ts"
import { createIdleSockets } from "./idle-sockets.ts"

const HOW = { headers: {}, signal: new AbortController().signal, timeouts: { connectMs: 5000, idleMs: 5000 } }

async function get(connection: HttpConnection): Promise<string> {
  return await text((await connection.get("/", HOW)).body)
}

test("many connections together keep only so many sockets open, the latest ones", async () => {
  const open = new Set<Socket>()
  let total = 0
  const server = createServer((_request, response) => response.end("ok"))
  server.on("connection", (socket) => {
    total += 1
    open.add(socket)
    socket.once("close", () => open.delete(socket))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const idleSockets = createIdleSockets(2)
  const connections = Array.from({ length: 6 }, () => openHttpConnection(url, { idleSockets }))
  try {
    for (const connection of connections) expect(await get(connection)).toBe("ok")
    await expect.poll(() => open.size).toBe(2)
    expect(total).toBe(6)
    // The last one still has its socket, the first one opens another.
    expect([await get(connections.at(-1) ?? connections[0]!), total]).toEqual(["ok", 6])
    expect([await get(connections[0]!), total]).toEqual(["ok", 7])
    await expect.poll(() => open.size).toBe(2)
  } finally {
    for (const connection of connections) connection.close()
    server.close()
  }
})
