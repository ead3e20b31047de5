import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"

import { describe, expect, test, vi } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { openHttpConnection } from "./http.ts"
import { wayTo } from "./way.ts"

/** Takes connections and says nothing, or the same words to everybody. */
async function startSilentServer(words = "") {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => sockets.delete(socket))
    socket.resume()
    if (words !== "") socket.write(words)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe("an HTTP proxy that never opens the tunnel", () => {
  const behind = (proxy: string) => {
    const url = new URL("https://models.example.com")
    const way = wayTo(url, { environment: environmentFrom({ HTTPS_PROXY: proxy }), local: false })
    if (!way.ok) throw new Error(way.error)
    return openHttpConnection(url, way.value)
  }

  test("is given up when the time to connect is over", async () => {
    await using proxy = await startSilentServer()
    const connection = behind(proxy.url.replace("//", "//ann:secret@"))
    const timeouts = { connectMs: 30, idleMs: 10_000 }
    await expect(
      connection.get("/", { headers: {}, signal: new AbortController().signal, timeouts }),
    ).rejects.toMatchObject({
      code: "ERR_PROXY_TIMEOUT",
      message: `the proxy ${proxy.url} opens no connection in time; correct or unset HTTPS_PROXY`,
    })
    connection.close()
  })

  test("gets ten seconds, however long a server may take", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      await using proxy = await startSilentServer()
      const connection = behind(proxy.url)
      const asking = connection.get("/", {
        headers: {},
        signal: new AbortController().signal,
        timeouts: { connectMs: 30_000, idleMs: 0 },
      })
      const failed = expect(asking).rejects.toMatchObject({ code: "ERR_PROXY_TIMEOUT" })
      await expect.poll(() => proxy.connections()).toBe(1)
      vi.advanceTimersByTime(10_000)
      await failed
      connection.close()
    } finally {
      vi.useRealTimers()
    }
  })

  test("does not keep an abort waiting", async () => {
    await using proxy = await startSilentServer()
    const connection = behind(proxy.url)
    const stop = new AbortController()
    const timeouts = { connectMs: 10_000, idleMs: 10_000 }
    const asking = connection.get("/", { headers: {}, signal: stop.signal, timeouts })
    await expect.poll(() => proxy.connections()).toBe(1)
    stop.abort()
    await expect(asking).rejects.toMatchObject({ name: "AbortError" })
    connection.close()
  })
})

test("what answers at the place of an HTTP proxy with something else is named", async () => {
  await using server = await startSilentServer("SSH-2.0-OpenSSH_9.6\r\n")
  const url = new URL("http://models.example.com")
  const way = wayTo(url, { environment: environmentFrom({ HTTPS_PROXY: server.url }), local: false })
  const connection = openHttpConnection(url, way.ok ? way.value : {})
  const timeouts = { connectMs: 10_000, idleMs: 0 }
  await expect(
    connection.get("/", { headers: {}, signal: new AbortController().signal, timeouts }),
  ).rejects.toMatchObject({
    code: "ERR_PROXY_FOREIGN",
    message: `what answers at ${server.url} is not such a proxy; correct HTTPS_PROXY`,
  })
  connection.close()
})

test("a request that waits for one of the busy connections hears its abort too", async () => {
  await using server = await startSilentServer()
  const connection = openHttpConnection(new URL(server.url))
  const stop = new AbortController()
  const timeouts = { connectMs: 10_000, idleMs: 0 }
  const busy = Array.from({ length: 8 }, () => connection.get("/", { headers: {}, signal: stop.signal, timeouts }))
  const settled = Promise.allSettled(busy)
  await expect.poll(() => server.connections()).toBe(8)
  const impatient = new AbortController()
  const queued = connection.get("/", { headers: {}, signal: impatient.signal, timeouts })
  impatient.abort()
  await expect(queued).rejects.toMatchObject({ name: "AbortError" })
  stop.abort()
  expect((await settled).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "rejected"))
  connection.close()
})
