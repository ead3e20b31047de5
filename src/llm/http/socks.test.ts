import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { describe, expect, test } from "vitest"

import { startSocksServer } from "../../../test/support/socks-server.ts"
import { startTlsServer } from "../../../test/support/tls-server.ts"
import { environmentFrom } from "../../config/environment.ts"
import { openHttpConnection } from "./http-connection.ts"
import type { HttpConnection } from "./http-connection.ts"
import { proxyFor } from "./proxy.ts"
import type { Proxy } from "./proxy.ts"
import { loadTrustFile } from "./tls-trust.ts"

const LONG = { connectMs: 10_000, idleMs: 10_000 }

/** Connection settings from a proxy variable, for a public address. */
function proxyOf(value: string, variable = "ALL_PROXY"): Proxy {
  const found = proxyFor(new URL("http://models.example.com"), {
    environment: environmentFrom({ [variable]: value }),
    local: false,
  })
  if (!found.ok || found.value === undefined) throw new Error(found.ok ? "no proxy" : found.error)
  return found.value
}

async function send(connection: HttpConnection, options: { signal?: AbortSignal; connectMs?: number } = {}) {
  const response = await connection.post("/v1/chat", "{}", {
    headers: {},
    signal: options.signal ?? new AbortController().signal,
    timeouts: { ...LONG, ...(options.connectMs === undefined ? {} : { connectMs: options.connectMs }) },
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return [response.status, Buffer.concat(chunks).toString()]
}

/** Counts its connections, to show that they are reused. */
async function startTarget() {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end(`${request.headers.host}${request.url}`))
  })
  server.on("connection", () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test.each([
  [
    "socks5h",
    "http://models.example.com",
    { version: 5, host: "models.example.com", port: 80, address: "name", login: "" },
  ],
  [
    "socks5h",
    "http://models.example.com:8080",
    { version: 5, host: "models.example.com", port: 8080, address: "name", login: "" },
  ],
  ["socks5", "http://203.0.113.7", { version: 5, host: "203.0.113.7", port: 80, address: "ipv4", login: "" }],
  [
    "socks5",
    "http://[2001:db8::1]",
    { version: 5, host: "20010db8000000000000000000000001", port: 80, address: "ipv6", login: "" },
  ],
  ["socks5", "http://localhost", { version: 5, host: "127.0.0.1", port: 80, address: "ipv4", login: "" }],
  ["socks", "http://localhost", { version: 5, host: "127.0.0.1", port: 80, address: "ipv4", login: "" }],
  [
    "socks4a",
    "http://models.example.com",
    { version: 4, host: "models.example.com", port: 80, address: "name", login: "" },
  ],
  ["socks4", "http://203.0.113.7:81", { version: 4, host: "203.0.113.7", port: 81, address: "ipv4", login: "" }],
  ["socks4", "http://localhost", { version: 4, host: "127.0.0.1", port: 80, address: "ipv4", login: "" }],
])("%s requests %s", async (scheme, address, question) => {
  await using target = await startTarget()
  await using proxy = await startSocksServer()
  proxy.forwardTo(target.url)
  const connection = openHttpConnection(new URL(address), { proxy: proxyOf(`${scheme}://${proxy.hostAndPort}`) })
  expect(await send(connection)).toEqual([200, `${new URL(address).host}/v1/chat`])
  connection.close()
  expect(proxy.requests).toEqual([question])
})

test("sends user name and password, even with URL-encoded characters", async () => {
  await using target = await startTarget()
  await using proxy = await startSocksServer({ login: "ann@lab:p:ss wörd" })
  proxy.forwardTo(target.url)
  const connection = openHttpConnection(new URL("http://models.example.com"), {
    proxy: proxyOf(`socks5h://ann%40lab:p%3Ass%20w%C3%B6rd@${proxy.hostAndPort}`),
  })
  expect((await send(connection))[0]).toBe(200)
  connection.close()
  expect(proxy.requests.map(({ login }) => login)).toEqual(["ann@lab:p:ss wörd"])
})

test("a connection is reused, and a new one is opened after close", async () => {
  await using target = await startTarget()
  await using proxy = await startSocksServer()
  proxy.forwardTo(target.url)
  const connection = openHttpConnection(new URL("http://models.example.com"), {
    proxy: proxyOf(`socks5h://${proxy.hostAndPort}`),
  })
  for (let turn = 0; turn < 3; turn += 1) await send(connection)
  expect([proxy.requests.length, target.connections()]).toEqual([1, 1])
  connection.close()
  await send(connection)
  expect([proxy.requests.length, target.connections()]).toEqual([2, 2])
  connection.close()
})

describe("an https address", () => {
  test("uses TLS end to end, over one reused connection", async () => {
    await using target = await startTarget()
    await using server = await startTlsServer(target.url)
    await using proxy = await startSocksServer()
    proxy.forwardTo(server.url)
    const trust = loadTrustFile(server.certificateFile, "the test")
    if (!trust.ok) throw new Error(trust.error)
    const connection = openHttpConnection(new URL("https://models.example.com"), {
      proxy: proxyOf(`socks5h://${proxy.hostAndPort}`),
      trust: trust.value,
    })
    for (let turn = 0; turn < 2; turn += 1) expect((await send(connection))[0]).toBe(200)
    connection.close()
    expect(proxy.requests).toEqual([{ version: 5, host: "models.example.com", port: 443, address: "name", login: "" }])
  })

  test.each([
    ["whose authority is unknown", "https://models.example.com", false, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["that shows another host's certificate", "https://other.example.com", true, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ])("%s is refused", async (_what, address, trusted, code) => {
    await using target = await startTarget()
    await using server = await startTlsServer(target.url)
    await using proxy = await startSocksServer()
    proxy.forwardTo(server.url)
    const trust = loadTrustFile(server.certificateFile, "the test")
    const connection = openHttpConnection(new URL(address), {
      proxy: proxyOf(`socks5h://${proxy.hostAndPort}`),
      ...(trusted && trust.ok ? { trust: trust.value } : {}),
    })
    await expect(send(connection)).rejects.toMatchObject({ code })
    connection.close()
  })
})

describe("a failing proxy is reported with its variable and without its password", () => {
  test.each([
    ["requires a login", { login: "a:b" }, "socks5h://", "requires a user name and a password; set ALL_PROXY"],
    ["refuses the login", { login: "a:b" }, "socks5h://ann:secret@", "refused the user name or password in ALL_PROXY"],
    ["may not", { reply: 2 }, "socks5h://ann:secret@", "refused the connection (not allowed by its rules)"],
    ["finds no host", { reply: 4 }, "socks5h://ann:secret@", "cannot reach models.example.com"],
    ["gets a refused connection", { reply: 5 }, "socks5h://", "cannot reach models.example.com"],
    ["fails somehow", { reply: 1 }, "socks5h://", "refused the connection; correct or unset ALL_PROXY"],
    ["fails in version 4", { reply: 91 }, "socks4a://", "cannot reach models.example.com"],
    ["hangs up", { behaves: "closes" as const }, "socks5h://", "refused the connection"],
    ["is a web server", { behaves: "http" as const }, "socks5h://", "is not a proxy of this type; correct ALL_PROXY"],
  ])("that %s", async (_what, options, prefix, words) => {
    await using proxy = await startSocksServer(options)
    const connection = openHttpConnection(new URL("http://models.example.com"), {
      proxy: proxyOf(`${prefix}${proxy.hostAndPort}`),
    })
    const failure: unknown = await send(connection).catch((error: unknown) => error)
    connection.close()
    expect(failure).toMatchObject({ code: expect.stringMatching(/^ERR_PROXY_/) as string })
    expect(String(failure)).toContain(words)
    expect(String(failure)).toContain(proxy.hostAndPort)
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("secret")
  })

  test("that does not respond", async () => {
    const proxy = await startSocksServer()
    await proxy[Symbol.asyncDispose]()
    const connection = openHttpConnection(new URL("http://models.example.com"), {
      proxy: proxyOf(`socks5h://ann:secret@${proxy.hostAndPort}`, "https_proxy"),
    })
    await expect(send(connection)).rejects.toThrow(
      `the proxy socks5h://${proxy.hostAndPort} does not respond; start it, or correct or unset https_proxy`,
    )
    connection.close()
  })

  test("a name that only the proxy can resolve suggests another scheme", async () => {
    await using proxy = await startSocksServer()
    const connection = openHttpConnection(new URL("http://models.invalid"), {
      proxy: proxyOf(`socks5://${proxy.hostAndPort}`),
    })
    await expect(send(connection)).rejects.toThrow(
      /models\.invalid cannot be resolved on this machine.*socks5h:\/\/ in ALL_PROXY/,
    )
    connection.close()
  })

  test("SOCKS 4 and an IPv6 address", async () => {
    await using proxy = await startSocksServer()
    const connection = openHttpConnection(new URL("http://[2001:db8::1]"), {
      proxy: proxyOf(`socks4://${proxy.hostAndPort}`),
    })
    await expect(send(connection)).rejects.toThrow(/cannot reach the IPv6 address 2001:db8::1; set a socks5/)
    connection.close()
  })
})

describe("a proxy that does not respond", () => {
  test("times out after the connect timeout", async () => {
    await using proxy = await startSocksServer({ behaves: "silent" })
    const connection = openHttpConnection(new URL("http://models.example.com"), {
      proxy: proxyOf(`socks5h://${proxy.hostAndPort}`),
    })
    await expect(send(connection, { connectMs: 30 })).rejects.toMatchObject({
      code: "ERR_PROXY_TIMEOUT",
      message: `the proxy socks5h://${proxy.hostAndPort} did not open a connection in time; correct or unset ALL_PROXY`,
    })
    connection.close()
  })

  test("can be aborted at once, and leaves nothing open after close", async () => {
    await using proxy = await startSocksServer({ behaves: "silent" })
    const connection = openHttpConnection(new URL("http://models.example.com"), {
      proxy: proxyOf(`socks5h://${proxy.hostAndPort}`),
    })
    const stop = new AbortController()
    const pending = send(connection, { signal: stop.signal })
    await expect.poll(() => proxy.connections()).toBe(1)
    stop.abort()
    await expect(pending).rejects.toMatchObject({ name: "AbortError" })
    connection.close()
    await expect.poll(() => proxy.connections()).toBe(0)
  })
})
