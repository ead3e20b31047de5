import { once } from "node:events"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import type { Socket } from "node:net"

import { describe, expect, test } from "vitest"

import { loadHome } from "../../../src/admin/loaded-home.ts"
import { serveMcpOverHttp } from "../../../src/admin/mcp/serve-http.ts"
import type { CallScope } from "../../../src/mcp/client/call-scope.ts"
import { createTestHomeContext } from "../../support/home-context.ts"
import { isRecord } from "../../../src/base/json.ts"
import { openServers, plainCall } from "../../support/mcp/open-servers.ts"
import { API_KEY, CONVERSATION, serveTestHome } from "../../support/mcp/served-home.ts"

const URI = `hermes://conversations/${CONVERSATION}`
const ASK_ABOUT_MESSAGES = "approvals: { rules: [{ pattern: messages_read, decision: ask }] }"
const READ = { name: "messages_read", arguments: { session_key: CONVERSATION } }
const ERAS = ["legacy", "modern"] as const

describe.each(ERAS)("a client of the %s protocol", (era) => {
  test("reads conversations as tools, resources and a prompt, and each read is audited", async () => {
    await using served = await serveTestHome()
    const client = await served.connect({ era })
    expect(JSON.stringify((await client.callTool(READ)).content)).toContain("passport")
    expect((await client.listResources()).resources).toMatchObject([{ uri: URI, mimeType: "application/json" }])
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: "hermes://conversations/{session_key}" },
    ])
    expect((await client.readResource({ uri: URI })).contents).toMatchObject([
      { uri: URI, text: expect.stringContaining("passport") },
    ])
    const ref = { type: "ref/prompt" as const, name: "continue_conversation" }
    expect(
      (await client.complete({ ref, argument: { name: "session_key", value: "2026" } })).completion.values,
    ).toEqual([CONVERSATION])
    const prompt = await client.getPrompt({ name: ref.name, arguments: { session_key: CONVERSATION } })
    expect(prompt.messages[0]?.content).toMatchObject({ type: "resource", resource: { uri: URI } })
    await expect(client.readResource({ uri: "hermes://conversations/20200101_000000_ffffff" })).rejects.toThrow(
      "there is no conversation",
    )
    await expect(client.readResource({ uri: "hermes://conversations/../.env" })).rejects.toThrow()
    expect((await served.audit()).map(({ tool, platform }) => `${String(platform)} ${String(tool)}`)).toEqual([
      "mcp messages_read",
      "mcp conversations_list",
      "mcp messages_read",
      "mcp conversations_list",
      "mcp messages_read",
      "mcp messages_read",
      "mcp messages_read",
    ])
  })

  test("asks its user what the rules ask about, for one call at a time", async () => {
    await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
    const questions: string[] = []
    const answers = ["Allow once", "Deny", "decline", "Allow once", "Allow once"] as const
    const client = await served.connect({
      era,
      asked: (message) => answers[questions.push(message) - 1] ?? "decline",
    })
    expect(JSON.stringify(await client.callTool(READ))).toContain("passport")
    expect(await client.callTool(READ)).toMatchObject({ isError: true })
    expect(await client.callTool(READ)).toMatchObject({ isError: true })
    expect(JSON.stringify(await client.readResource({ uri: URI }))).toContain("passport")
    const prompt = { name: "continue_conversation", arguments: { session_key: CONVERSATION } }
    expect(JSON.stringify(await client.getPrompt(prompt))).toContain("passport")
    expect(questions).toHaveLength(5)
    expect(questions[0]).toMatch(/may this program call messages_read with .*20260101_100000_aaaaaa/u)
    expect(await served.audit()).toMatchObject(
      ["once", "deny", "deny", "once", "once"].map((choice) => ({ decided_by: "user", choice })),
    )
  })

  test("that has no forms is denied what the rules ask about", async () => {
    await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
    const client = await served.connect({ era })
    expect(await client.callTool(READ)).toMatchObject({ isError: true })
    await expect(client.readResource({ uri: URI })).rejects.toThrow("no user is present")
    expect(await served.audit()).toMatchObject([{ decided_by: "headless" }, { decided_by: "headless" }])
  })

  test("is asked only about its own calls", async () => {
    await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
    const asked: string[] = []
    const clientNamed = (name: string) =>
      served.connect({
        era,
        asked: () => {
          asked.push(name)
          return name === "first" ? "Deny" : "Allow once"
        },
      })
    const [first, second] = await Promise.all([clientNamed("first"), clientNamed("second")])
    const [denied, allowed] = await Promise.all([first.callTool(READ), second.callTool(READ)])
    expect(denied).toMatchObject({ isError: true })
    expect(JSON.stringify(allowed)).toContain("passport")
    expect(asked.toSorted()).toEqual(["first", "second"])
  })
})

test("a client that subscribed to a conversation hears of its new messages", async () => {
  await using served = await serveTestHome()
  const client = await served.connect()
  const { promise, resolve } = Promise.withResolvers<string>()
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri))
  await client.subscribeResource({ uri: URI })
  await served.append("It is in the drawer.")
  expect(await promise).toBe(URI)
  await client.unsubscribeResource({ uri: URI })
})

test("a rule that hides events refuses a subscription", async () => {
  await using served = await serveTestHome("approvals: { rules: [{ pattern: 'events_poll', decision: deny }] }")
  const client = await served.connect()
  await expect(client.subscribeResource({ uri: URI })).rejects.toThrow(
    "the rule `events_poll` (approvals.rules) denies it",
  )
})

test("another Hermes connects, and its user answers the question", async () => {
  await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
  const headers = { Authorization: `Bearer ${API_KEY}` }
  await using opened = await openServers({ other: { url: served.url, headers } })
  const connection = await opened.connection()
  const questions: string[] = []
  const ask: CallScope["ask"] = ({ question, choices }) => {
    questions.push(question)
    return Promise.resolve({ kind: "answer", text: choices.includes("Allow once") ? "Allow once" : "Accept" })
  }
  const result = await connection.callTool(READ.name, READ.arguments, plainCall({ scope: { ask } }))
  expect(JSON.stringify(result)).toContain("passport")
  expect(questions.join("\n")).toContain("may this program call messages_read")
  expect(opened.server().stored()?.prompts).toMatchObject([{ name: "continue_conversation" }])
})

test("a search finds only what is shown, so it does not reveal what was removed", async () => {
  await using served = await serveTestHome(`
approvals: { rules: [{ pattern: messages_read, decision: deny }] }
security: { redact_secrets: false }`)
  const client = await served.connect()
  const names = async (search: string): Promise<readonly unknown[]> => {
    const { content } = await client.callTool({ name: "conversations_list", arguments: { search } })
    const [first] = content
    const listed: unknown = JSON.parse(first?.type === "text" ? first.text : "")
    return isRecord(listed) && Array.isArray(listed["conversations"])
      ? listed["conversations"].map((row: unknown) => (isRecord(row) ? row["display_name"] : row))
      : [listed]
  }
  expect(await names("PASSPORT")).toEqual(["Where is my passport?"])
  const token = `ghp_${"abcdefghij".repeat(3)}456789`
  await served.setTitle(`Deploy with ${token}`)
  const shown = ["Deploy with ghp_ab...6789"]
  expect(await names("deploy")).toEqual(shown)
  expect(await names("ghp_ab...6789")).toEqual(shown)
  for (const guess of [token, "ghp_abc", "ij456789", "passport"]) expect(await names(guess)).toEqual([])
  await served.setTitle("Set DB_PASSWORD=abcdefghijklmnopqrstuvwxyz")
  expect(await names("set")).toEqual(["Set DB_PASSWORD=***"])
  expect(await names("abcdef...wxyz")).toEqual([])
})

test("a secret that is cut by the limit of a text is still removed", async () => {
  await using served = await serveTestHome()
  const client = await served.connect()
  const cut = `${"x".repeat(1980)} ${API_KEY}`
  await served.append(cut)
  const results = await Promise.all([client.callTool(READ), client.callTool({ name: "events_poll", arguments: {} })])
  for (const result of results) {
    expect(JSON.stringify(result)).toContain("xxx key-of...host")
    expect(JSON.stringify(result)).not.toContain("key-of-")
  }
})

interface RawRequest {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface RawAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
})

/** A request with headers that `fetch` does not send. With `until`, the connection is cut at the first text that contains it. */
function raw(url: string, request: RawRequest, until?: string): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const sent = httpRequest(
    new URL(request.path ?? "/mcp", url),
    {
      method: request.method ?? "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...request.headers,
      },
    },
    (response) => {
      let text = ""
      const done = (): void => resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
        if (until === undefined || !text.includes(until)) return
        done()
        sent.destroy()
      })
      response.on("end", done)
      response.on("error", done)
    },
  )
  sent.on("error", reject)
  sent.end(request.body)
  return promise
}

test("requests that are not a client's are refused before anything is read", async () => {
  await using served = await serveTestHome("", { allowedHosts: ["mcp.example.com", "localhost:9000"] })
  const { port, host } = new URL(served.url)
  const statuses = await Promise.all(
    Object.entries({
      "no key": { headers: { authorization: "" } },
      "wrong key": { headers: { authorization: "Bearer wrong" } },
      "key as basic": { headers: { authorization: `Basic ${API_KEY}` } },
      "another host": { headers: { host: "evil.example.com" } },
      "a host that only begins alike": { headers: { host: "localhost.example.com" } },
      "another origin": { headers: { origin: "https://evil.example.com" } },
      "an opaque origin": { headers: { origin: "null" } },
      "another local origin": { headers: { origin: "http://localhost:3000" } },
      "the same origin": { headers: { origin: `http://${host}` } },
      "the origin of a proxy": { headers: { origin: "https://mcp.example.com" } },
      "another local port": { headers: { host: "localhost:1" } },
      "no port": { headers: { host: "localhost" } },
      "a forwarded port": { headers: { host: "localhost:9000" } },
      "an allowed host": { headers: { host: "mcp.example.com" } },
      IPv6: { headers: { host: `[::1]:${port}` } },
      "another path": { path: "/other" },
      "a huge body": { body: "x".repeat(2_000_000) },
      "a huge body without a length": { body: "x".repeat(2_000_000), headers: { "transfer-encoding": "chunked" } },
      "no session": { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
      "another session": { headers: { "mcp-session-id": "guessed" } },
      "no JSON": { body: "{" },
      "another method": { method: "PUT" },
      "a method that requests cannot have": { method: "TRACE", body: "" },
      "another method without the key": { method: "TRACE", body: "", headers: { authorization: "" } },
    } satisfies Record<string, RawRequest>).map(async ([name, request]) => {
      const { status } = await raw(served.url, { body: INITIALIZE, ...request })
      return [name, status] as const
    }),
  )
  expect(Object.fromEntries(statuses)).toEqual({
    "no key": 401,
    "wrong key": 401,
    "key as basic": 401,
    "another host": 403,
    "a host that only begins alike": 403,
    "another origin": 403,
    "an opaque origin": 403,
    "another local origin": 403,
    "the same origin": 200,
    "the origin of a proxy": 200,
    "another local port": 403,
    "no port": 403,
    "a forwarded port": 200,
    "an allowed host": 200,
    IPv6: 200,
    "another path": 404,
    "a huge body": 413,
    "a huge body without a length": 413,
    "no session": 400,
    "another session": 404,
    "no JSON": 400,
    "another method": 405,
    "a method that requests cannot have": 405,
    "another method without the key": 401,
  })
})

test("a client cannot answer the question of another one", async () => {
  await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
  const asked = Promise.withResolvers<void>()
  const decided = Promise.withResolvers<"Deny">()
  const first = await served.connect({ asked: () => (asked.resolve(), decided.promise) })
  let hasEnded = false
  const reading = first.callTool(READ).finally(() => (hasEnded = true))
  await asked.promise
  const { headers } = await raw(served.url, { body: INITIALIZE })
  const second = { "mcp-session-id": String(headers["mcp-session-id"]), "mcp-protocol-version": "2025-11-25" }
  const result = { action: "accept", content: { answer: "Allow once" } }
  for (const id of [0, 1, 2, 3]) {
    const answer = { headers: second, body: JSON.stringify({ jsonrpc: "2.0", id, result }) }
    expect((await raw(served.url, answer)).status).toBe(202)
  }
  expect(hasEnded).toBe(false)
  decided.resolve("Deny")
  expect(await reading).toMatchObject({ isError: true })
  expect(await served.audit()).toMatchObject([{ tool: "messages_read", choice: "deny" }])
})

test("half-sent requests and clients that do not read lock nobody out", async () => {
  await using served = await serveTestHome()
  const { hostname, port } = new URL(served.url)
  const client = await served.connect()
  const open = async (start: string): Promise<Socket> => {
    const socket = connect({ host: hostname, port: Number(port) })
    // Closed by the server.
    socket.on("error", () => undefined)
    await once(socket, "connect")
    socket.write(start)
    return socket
  }
  const head = `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\n`
  const strangers = await Promise.all(Array.from({ length: 300 }, () => open(head)))
  const unread = await open(
    `${head}Authorization: Bearer ${API_KEY}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${INITIALIZE.length}\r\n\r\n${INITIALIZE}`,
  )
  unread.pause()
  const tunnel = await open(`CONNECT other:1 HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`)
  expect(String(await once(tunnel, "data"))).toMatch(/^HTTP\/1.1 405 /u)
  expect((await raw(served.url, { body: INITIALIZE })).status).toBe(200)
  expect(JSON.stringify(await client.callTool(READ))).toContain("passport")
  await served.stop()
  for (const socket of [...strangers, unread]) socket.destroy()
})

test("a session has its protocol version, survives a lost connection, and ends with DELETE", async () => {
  await using served = await serveTestHome()
  const { headers, status } = await raw(served.url, { body: INITIALIZE })
  expect(status).toBe(200)
  const session = { "mcp-session-id": String(headers["mcp-session-id"]), "mcp-protocol-version": "2025-11-25" }
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: READ }
  const wrongVersion = { ...session, "mcp-protocol-version": "1999-01-01" }
  expect((await raw(served.url, { headers: wrongVersion, body: JSON.stringify(call) })).status).toBe(400)
  const cut = await raw(served.url, { headers: session, body: JSON.stringify(call) }, "id: ")
  const [, lastEvent = ""] = /^id: (\S+)$/mu.exec(cut.text) ?? []
  const resumed = await raw(
    served.url,
    { method: "GET", headers: { ...session, "last-event-id": lastEvent } },
    "passport",
  )
  expect(resumed.text).toContain('"id":2')
  expect((await raw(served.url, { method: "DELETE", headers: session })).status).toBe(200)
  expect((await raw(served.url, { headers: session, body: JSON.stringify(call) })).status).toBe(404)
})

test("stopping ends open streams, waiting calls and open questions", async () => {
  await using served = await serveTestHome(ASK_ABOUT_MESSAGES)
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const unanswered = await served.connect({ asked: async () => (resolve(), await new Promise(() => undefined)) })
  const question = unanswered.callTool(READ).catch(() => "ended")
  await asked
  const client = await served.connect()
  const waiting = client.callTool({ name: "events_wait", arguments: { timeout_ms: 300_000 } }).catch(() => "ended")
  await client.ping()
  await served.stop()
  await expect(fetch(served.url)).rejects.toThrow()
  await Promise.all([client.close(), unanswered.close()])
  expect(await Promise.all([waiting, question])).toEqual(["ended", "ended"])
})

test("what prevents the start is one sentence", async () => {
  await using served = await serveTestHome()
  const problem = async (
    key: string,
    { host = "127.0.0.1", port = 0 }: { readonly host?: string; readonly port?: number } = {},
  ): Promise<string> => {
    using context = createTestHomeContext({}, key === "" ? {} : { API_SERVER_KEY: key })
    const result = await serveMcpOverHttp(await loadHome(context), {
      version: "1.0.0",
      cwd: context.directory,
      signal: AbortSignal.abort(),
      host,
      port,
      allowedHosts: [],
      onListening: () => undefined,
    })
    return result.ok ? "started" : result.error.message
  }
  expect(await problem("short")).toBe("started")
  expect(await problem("")).toMatch(/^No API key is set.*hermes config set API_SERVER_KEY/u)
  expect(await problem("with space")).toContain("cannot be sent in a header")
  expect(await problem("short", { host: "0.0.0.0" })).toContain("has fewer than 32 characters")
  const port = Number(new URL(served.url).port)
  expect(await problem(API_KEY, { port })).toBe(
    `Port ${port} on 127.0.0.1 is in use. Choose another one with --port, or stop the program that uses it.`,
  )
  expect(await problem(API_KEY, { host: "192.0.2.1" })).toContain("is not an address of this machine")
})
