import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { describe, expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import type { ResolveHost } from "./address-guard.ts"
import { createGuardedFetch } from "./guarded-fetch.ts"
import type { GuardedFetchOptions } from "./guarded-fetch.ts"

interface Seen {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** A server on all loopback addresses. `/to?URL` redirects there. */
async function startServer(): Promise<AsyncDisposable & { readonly port: number; readonly seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer(({ url = "", headers }, response) => {
    seen.push({ path: url, headers })
    const target = url.startsWith("/to?") ? decodeURIComponent(url.slice("/to?".length)) : undefined
    if (target === undefined) response.end("reached")
    else response.writeHead(307, { location: target }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve))
  const { port }: AddressInfo = Object(server.address())
  return {
    port,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function guarded(options: Partial<GuardedFetchOptions> = {}): ReturnType<typeof createGuardedFetch> {
  return createGuardedFetch({
    environment: environmentFrom({}),
    // The address that a user configured.
    allowsPrivate: (host) => host === "127.0.0.1",
    timeouts: { connectMs: 5000, idleMs: 5000 },
    maxBytes: 1_000_000,
    ...options,
  })
}

/** The text of the answer, or why there is none. */
async function outcome(fetched: Promise<Response>): Promise<string> {
  try {
    return await (await fetched).text()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Every name has this address. */
function always(address: string): ResolveHost {
  return (_hostname, _options, callback) => callback(null, [{ address, family: 4 }])
}

describe("a redirect", () => {
  test.each([
    ["another name of this machine", (port: number) => `http://localhost:${port}/`],
    ["another loopback address", (port: number) => `http://127.0.0.2:${port}/`],
    ["a decimal address", (port: number) => `http://2130706434:${port}/`],
    ["an octal address", (port: number) => `http://0177.0.0.2:${port}/`],
    ["a hexadecimal address", (port: number) => `http://0x7f.0.0.2:${port}/`],
    ["a short address", (port: number) => `http://127.2:${port}/`],
    ["a mapped IPv6 address", (port: number) => `http://[::ffff:127.0.0.2]:${port}/`],
    ["the same in hexadecimal", (port: number) => `http://[::ffff:7f00:2]:${port}/`],
    ["an IPv6 loopback address", (port: number) => `http://[::1]:${port}/`],
    ["an address that means any", (port: number) => `http://0.0.0.0:${port}/`],
    ["a metadata service", () => "http://169.254.169.254/latest/meta-data/"],
    ["a metadata service by name", () => "http://metadata.google.internal/"],
    ["a file", () => "file:///etc/passwd"],
  ])("to %s is not followed", async (_case, target) => {
    await using server = await startServer()
    const { fetch, close } = guarded()
    const location = encodeURIComponent(target(server.port))
    const text = await outcome(fetch(`http://127.0.0.1:${server.port}/to?${location}`))
    close()
    expect(text).toMatch(/private address|metadata service|not allowed/u)
    expect(server.seen).toHaveLength(1)
  })

  test("to another origin carries no header that the user configured", async () => {
    await using first = await startServer()
    await using second = await startServer()
    const { fetch, close } = guarded()
    const location = encodeURIComponent(`http://127.0.0.1:${second.port}/`)
    const headers = { authorization: "Bearer k", "x-team-key": "k", "mcp-session-id": "k", accept: "text/plain" }
    await outcome(fetch(`http://127.0.0.1:${first.port}/to?${location}`, { headers }))
    close()
    expect(first.seen[0]?.headers).toMatchObject(headers)
    expect(second.seen[0]?.headers).toMatchObject({ accept: "text/plain" })
    expect(Object.values(second.seen[0]?.headers ?? {})).not.toContain("k")
    expect(JSON.stringify(second.seen)).not.toContain("Bearer")
  })

  test("that never ends is given up", async () => {
    await using server = await startServer()
    const { fetch, close } = guarded()
    const endless = `http://127.0.0.1:${server.port}/to?`
    let url = endless
    for (let hop = 0; hop < 10; hop += 1) url = `${endless}${encodeURIComponent(url)}`
    expect(await outcome(fetch(url))).toContain("redirects more than 5 times")
    close()
    expect(server.seen).toHaveLength(6)
  })
})

describe("a host name", () => {
  test("with a private address is refused", async () => {
    await using server = await startServer()
    const { fetch, close } = guarded({ resolve: always("127.0.0.1") })
    expect(await outcome(fetch(`http://rebinding.example:${server.port}/`))).toContain(
      "rebinding.example (127.0.0.1) is a private address",
    )
    close()
    expect(server.seen).toEqual([])
  })

  test("is resolved once for a connection, and the connection goes to the address that was checked", async () => {
    await using server = await startServer()
    let resolved = 0
    const resolve: ResolveHost = (_hostname, _options, callback) => {
      resolved += 1
      // The second answer would be refused.
      callback(null, [{ address: resolved === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }])
    }
    const allowsPrivate = (host: string): boolean => host === "nas.example"
    const { fetch, close } = guarded({ resolve, allowsPrivate })
    expect(await outcome(fetch(`http://nas.example:${server.port}/`))).toBe("reached")
    close()
    const again = guarded({ resolve, allowsPrivate })
    expect(await outcome(again.fetch(`http://nas.example:${server.port}/`))).toContain("metadata service")
    again.close()
    expect([resolved, server.seen.length]).toEqual([2, 1])
  })

  test("with several addresses is refused if one of them is private", async () => {
    const resolve: ResolveHost = (_hostname, _options, callback) => {
      callback(null, [
        { address: "8.8.8.8", family: 4 },
        { address: "::ffff:10.0.0.1", family: 6 },
      ])
    }
    const { fetch, close } = guarded({ resolve })
    expect(await outcome(fetch("http://mixed.example/"))).toContain("mixed.example (::ffff:10.0.0.1) is a private")
    close()
  })

  test("that a proxy would resolve is refused if it is private here", async () => {
    await using proxy = await startServer()
    const environment = environmentFrom({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}` })
    const inside = guarded({ environment, resolve: always("10.0.0.1") })
    expect(await outcome(inside.fetch("http://inside.example/"))).toContain("is a private address")
    inside.close()
    expect(proxy.seen).toEqual([])
    const unknown = guarded({
      environment,
      resolve: (_hostname, _options, callback) => callback(new Error("ENOTFOUND"), []),
    })
    expect(await outcome(unknown.fetch("http://outside.example/"))).toBe("reached")
    unknown.close()
  })
})

test("a response that is too long is ended", async () => {
  await using server = await startServer()
  const { fetch, close } = guarded({ maxBytes: 3 })
  expect(await outcome(fetch(`http://127.0.0.1:${server.port}/`))).toContain("the server sent more than")
  close()
})
