import { readFileSync, writeFileSync } from "node:fs"
import { mkdtempDisposable } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import type { Connection } from "../../../src/mcp/client/connection.ts"
import { bridgeToStdio } from "../../support/mcp/stdio-bridge.ts"
import { openServers, plainCall } from "../../support/mcp/open-servers.ts"
import { referenceCommand, startEverything } from "../../support/mcp/reference-servers.ts"

const never = new AbortController().signal

async function textOf(result: ReturnType<Connection["callTool"]>): Promise<string> {
  const answer = await result
  if (!answer.ok) return answer.error
  return answer.value.content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n")
}

describe("the reference servers over stdio", () => {
  test("filesystem reads and writes below its directory", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
    writeFileSync(join(scratch.path, "a.txt"), "inside")
    await using opened = await openServers({ fs: referenceCommand("server-filesystem", scratch.path) })
    const connection = await opened.connection()
    // It replaces its directories with the roots of the client, if the client has any.
    const call = plainCall({ scope: { roots: () => [{ uri: `file://${scratch.path}`, name: "workspace" }] } })
    connection.useScope(call.scope)
    expect(await textOf(connection.callTool("read_text_file", { path: join(scratch.path, "a.txt") }, call))).toBe(
      "inside",
    )
    await connection.callTool("write_file", { path: join(scratch.path, "b.txt"), content: "new" }, call)
    expect(readFileSync(join(scratch.path, "b.txt"), "utf8")).toBe("new")
    expect(await textOf(connection.callTool("read_text_file", { path: "/etc/passwd" }, call))).toContain(
      "Access denied",
    )
  })

  test("memory keeps what it was given for a second connection", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
    const entry = {
      ...referenceCommand("server-memory"),
      env: { MEMORY_FILE_PATH: join(scratch.path, "memory.jsonl") },
    }
    await using opened = await openServers({ memory: entry })
    const connection = await opened.connection()
    const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }]
    await connection.callTool("create_entities", { entities }, plainCall())
    const [again] = opened.again({ memory: entry }).list
    const text = await textOf(
      (await again?.connection())?.callTool("read_graph", {}, plainCall()) ?? Promise.reject(new Error("none")),
    )
    expect(text).toContain("writes programs")
  })

  test("everything answers with text, images, structured content and progress", async () => {
    await using opened = await openServers({ all: referenceCommand("server-everything", "stdio") })
    const connection = await opened.connection()
    expect(await textOf(connection.callTool("echo", { message: "hi" }, plainCall()))).toBe("Echo: hi")
    expect(await textOf(connection.callTool("get-tiny-image", {}, plainCall()))).toContain("image")
    expect(await connection.callTool("get-structured-content", { location: "New York" }, plainCall())).toMatchObject({
      ok: true,
      value: { structuredContent: { temperature: expect.any(Number) } },
    })
    const progress: string[] = []
    const call = plainCall({ onProgress: (text) => void progress.push(text) })
    await connection.callTool("trigger-long-running-operation", { duration: 0.2, steps: 2 }, call)
    expect(progress.length).toBeGreaterThanOrEqual(1)
    expect((await connection.listResources(plainCall())).ok).toBe(true)
    expect(opened.server().stored()?.prompts.length).toBeGreaterThan(0)
  })
})

describe("a reference server whose process is killed", () => {
  test.each(["server-everything", "server-filesystem", "server-memory"] as const)(
    "%s is started again, and the next call works",
    async (name) => {
      await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
      const { command, args } = referenceCommand(name, ...(name === "server-filesystem" ? [scratch.path] : []))
      const pids = join(scratch.path, "pids")
      const entry = {
        command: "/bin/sh",
        args: ["-c", `echo $$ >> "${pids}"; exec "$@"`, "sh", command, ...args],
        env: { MEMORY_FILE_PATH: join(scratch.path, "memory.jsonl") },
      }
      await using opened = await openServers({ ref: entry })
      const connection = await opened.connection()
      const call = plainCall({ scope: { roots: () => [{ uri: `file://${scratch.path}`, name: "workspace" }] } })
      connection.useScope(call.scope)
      const { tool, args: given } = HARMLESS[name]
      const answer = (): Promise<string> => textOf(connection.callTool(tool, given, call))
      const before = await answer()
      const started = (): readonly number[] => readFileSync(pids, "utf8").trim().split("\n").map(Number)
      const [first = 0] = started()
      process.kill(first, "SIGKILL")
      await expect.poll(answer, { timeout: 10_000 }).toBe(before)
      expect(started()).toHaveLength(2)
      expect(opened.warnings.join("\n")).toContain("ref was ended by SIGKILL")
    },
    20_000,
  )
})

const HARMLESS = {
  "server-everything": { tool: "echo", args: { message: "again" } },
  "server-filesystem": { tool: "list_allowed_directories", args: {} },
  "server-memory": { tool: "read_graph", args: {} },
} as const

/** The other two servers never change their tools, so they send no `tools/list_changed`. */
test.each(["stdio", "streamableHttp", "sse"] as const)(
  "tools that everything announces over %s after the handshake appear",
  async (transport) => {
    await using everything = transport === "stdio" ? undefined : await startEverything(transport)
    await using opened = await openServers({
      all: everything === undefined ? referenceCommand("server-everything", "stdio") : { url: everything.url },
    })
    await (await opened.connection()).ready(never)
    const offered = (): readonly string[] => (opened.server().stored()?.tools ?? []).map(({ name }) => name)
    // It registers them when it knows what the client can do, and sends `tools/list_changed`.
    await expect
      .poll(offered, { timeout: 30_000 })
      .toEqual(expect.arrayContaining(["get-roots-list", "trigger-sampling-request"]))
  },
  60_000,
)

test.each(["server-filesystem", "server-memory"] as const)("%s works over HTTP, and after a restart", async (name) => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
  writeFileSync(join(scratch.path, "a.txt"), "inside")
  const { command, args } = referenceCommand(name, ...(name === "server-filesystem" ? [scratch.path] : []))
  const env = { PATH: process.env["PATH"] ?? "", MEMORY_FILE_PATH: join(scratch.path, "memory.jsonl") }
  // These two speak stdio only.
  await using bridge = await bridgeToStdio([command, ...args], { env })
  await using opened = await openServers({ ref: { url: bridge.url, transport: "http", timeout: 5 } })
  const connection = await opened.connection()
  const read = (): Promise<string> => textOf(connection.callTool(...READING[name](scratch.path), plainCall()))
  if (name === "server-memory") {
    const entities = [{ name: "Ada", entityType: "person", observations: ["inside"] }]
    await connection.callTool("create_entities", { entities }, plainCall())
  }
  expect(await read()).toContain("inside")
  await bridge.restart()
  expect(await read()).toContain("inside")
})

const READING = {
  "server-filesystem": (directory: string) => ["read_text_file", { path: join(directory, "a.txt") }],
  "server-memory": () => ["read_graph", {}],
} as const satisfies Record<string, (directory: string) => readonly [string, Readonly<Record<string, unknown>>]>

describe.each(["streamableHttp", "sse"] as const)("everything over %s", (transport) => {
  test("is called, lost and found again", async () => {
    await using everything = await startEverything(transport)
    await using opened = await openServers({ all: { url: everything.url, timeout: 5 } })
    const connection = await opened.connection()
    expect(await connection.ready(never)).toEqual({ ok: true, value: undefined })
    expect(await textOf(connection.callTool("echo", { message: "one" }, plainCall()))).toBe("Echo: one")
    await everything.stop()
    expect((await connection.callTool("echo", { message: "two" }, plainCall())).ok).toBe(false)
    await everything.start()
    await expect
      .poll(() => textOf(connection.callTool("echo", { message: "three" }, plainCall())), {
        timeout: 20_000,
        interval: 500,
      })
      .toBe("Echo: three")
  }, 40_000)
})

describe("an address", () => {
  const problem = async (url: string): Promise<string> => {
    await using opened = await openServers({ web: { url, connect_timeout: 3 } })
    const ready = await (await opened.connection()).ready(AbortSignal.timeout(800))
    return ready.ok ? "connected" : opened.warnings.join("\n")
  }

  test("of a web page is explained", async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><html></html>")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port }: AddressInfo = Object(server.address())
    try {
      expect(await problem(`http://127.0.0.1:${port}/mcp`)).toContain(
        "answers with a web page instead of MCP; check the url",
      )
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test("of a metadata service is refused, even when the user configured it", async () => {
    expect(await problem("http://169.254.169.254/mcp")).toContain("metadata service")
  })

  test("at which nothing listens is explained", async () => {
    expect(await problem("http://127.0.0.1:9/mcp")).toContain("nothing listens at its address")
  })
})
