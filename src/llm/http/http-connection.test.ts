import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"

import { describe, expect, test, vi } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { openHttpConnection } from "./http-connection.ts"
import { connectionSettingsFor } from "./connection-settings.ts"

/** Accepts connections and sends nothing, or the same bytes to each. */
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
    const way = connectionSettingsFor(url, { environment: environmentFrom({ HTTPS_PROXY: proxy }), local: false })
    if (!way.ok) throw new Error(way.error)
    return openHttpConnection(url, way.value)
  }

  test("times out after the connect timeout", async () => {
    await using proxy = await startSilentServer()
    const connection = behind(proxy.url.replace("//", "//ann:secret@"))
    const timeouts = { connectMs: 30, idleMs: 10_000 }
    await expect(
      connection.get("/", { headers: {}, signal: new AbortController().signal, timeouts }),
    ).rejects.toMatchObject({
      code: "ERR_PROXY_TIMEOUT",
      message: `the proxy ${proxy.url} did not open a connection in time; correct or unset HTTPS_PROXY`,
    })
    connection.close()
  })

  test("times out after ten seconds, even with a longer connect timeout", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      await using proxy = await startSilentServer()
      const connection = behind(proxy.url)
      const pending = connection.get("/", {
        headers: {},
        signal: new AbortController().signal,
        timeouts: { connectMs: 30_000, idleMs: 0 },
      })
      const failed = expect(pending).rejects.toMatchObject({ code: "ERR_PROXY_TIMEOUT" })
      await expect.poll(() => proxy.connections()).toBe(1)
      vi.advanceTimersByTime(10_000)
      await failed
      connection.close()
    } finally {
      vi.useRealTimers()
    }
  })

  test("can be aborted at once", async () => {
    await using proxy = await startSilentServer()
    const connection = behind(proxy.url)
    const stop = new AbortController()
    const timeouts = { connectMs: 10_000, idleMs: 10_000 }
    const pending = connection.get("/", { headers: {}, signal: stop.signal, timeouts })
    await expect.poll(() => proxy.connections()).toBe(1)
    stop.abort()
    await expect(pending).rejects.toMatchObject({ name: "AbortError" })
    connection.close()
  })
})

test("a server that is not an HTTP proxy is reported", async () => {
  await using server = await startSilentServer("SSH-2.0-OpenSSH_9.6\r\n")
  const url = new URL("http://models.example.com")
  const way = connectionSettingsFor(url, { environment: environmentFrom({ HTTPS_PROXY: server.url }), local: false })
  const connection = openHttpConnection(url, way.ok ? way.value : {})
  const timeouts = { connectMs: 10_000, idleMs: 0 }
  await expect(
    connection.get("/", { headers: {}, signal: new AbortController().signal, timeouts }),
  ).rejects.toMatchObject({
    code: "ERR_PROXY_FOREIGN",
    message: `the server at ${server.url} is not a proxy of this type; correct HTTPS_PROXY`,
  })
  connection.close()
})

test("a request that waits for a free connection can be aborted", async () => {
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
