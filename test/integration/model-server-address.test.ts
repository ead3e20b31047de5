import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "vitest"

import { runSlashCommand } from "../../src/commands/slash-table.ts"
import type { SlashContext } from "../../src/commands/slash-command.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

type Assembled = Awaited<ReturnType<typeof assembleApp>>

/** Runs commands in one conversation, as line mode does. */
async function conversation(assembled: Assembled, more: Partial<SlashContext> = {}) {
  const session = await assembled.open()
  const run = async (line: string): Promise<string> => {
    const outcome = await runSlashCommand(line, {
      app: assembled.app,
      session,
      open: () => Promise.reject(new Error("not supported in this test")),
      running: false,
      signal: new AbortController().signal,
      ...more,
    })
    return outcome.kind === "reply" ? outcome.text : outcome.kind
  }
  return { session, run }
}

const settings = ({ app }: Assembled): string => readFileSync(app.home.file("config.yaml"), "utf8")

test("/model ADDRESS asks the server for its models and uses one, for this session or with --global also later", async () => {
  await using other = await startModelServer([says("From alpha."), says("From beta.")], {
    models: ["alpha-1", "beta-2"],
  })
  await using assembled = await assembleApp([])
  const { session, run } = await conversation(assembled)
  const before = settings(assembled)
  expect(await run(`/model ${other.url}`)).toBe(
    `${other.url}/v1 has these models: alpha-1, beta-2. Use one with /model ${other.url}/v1 NAME.`,
  )
  expect(await run(`/model ${other.url}/v1 alhpa`)).toContain('has no model "alhpa". It has alpha-1, beta-2.')
  expect(await run(`/model ${other.url}/v1 alpha-1`)).toContain("Switched to alpha-1 (custom).")
  await runToEnd(session, "Hi.")
  // The server of the conversation is not in the settings.
  expect(await run("/model beta-2")).toBe("Switched to beta-2 (custom).")
  await runToEnd(session, "Hi again.")
  expect(other.requests.map(({ body }) => body)).toMatchObject([{ model: "alpha-1" }, { model: "beta-2" }])
  expect(settings(assembled)).toBe(before)
  expect(await run(`/model --global ${other.url} beta-2`)).toContain("It is now the default for later sessions.")
  expect(settings(assembled)).toContain(`base_url: ${other.url}/v1\n  default: beta-2\n  provider: custom\n`)
})

test("a typed key is sent only to its server, and stored in .env only for later sessions", async () => {
  const key = "sk-server-0123456789"
  const list = createServer((request, response) => {
    const isAllowed = request.headers.authorization === `Bearer ${key}`
    response.writeHead(isAllowed ? 200 : 401, { "content-type": "application/json" })
    response.end(JSON.stringify({ data: [{ id: "only-1" }] }))
  })
  await new Promise<void>((resolve) => void list.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(list.address() as AddressInfo).port}/v1`
  try {
    await using assembled = await assembleApp([])
    const { run, session } = await conversation(assembled, { askSecret: () => Promise.resolve(key) })
    expect(await run(`/model ${url}`)).toContain("Switched to only-1 (custom).")
    expect(session.chosenModel.key).toBe(key)
    expect([existsSync(assembled.app.home.file(".env")), settings(assembled)]).toEqual([
      false,
      expect.not.stringContaining(url) as string,
    ])
    expect(await run(`/model ${url} --global`)).toContain("as CUSTOM_API_KEY.")
    expect(readFileSync(assembled.app.home.file(".env"), "utf8")).toContain(`CUSTOM_API_KEY=${key}`)
    expect(settings(assembled)).toMatch(/api_key: \$\{CUSTOM_API_KEY\}/u)
    expect(settings(assembled)).not.toContain(key)
  } finally {
    list.closeAllConnections()
    list.close()
  }
})

test("a server that cannot be used: the reason, and nothing changes", async () => {
  const key = "sk-server-0123456789"
  const needsKey = { kind: "status" as const, status: 401, body: {} }
  await using closed = await startModelServer([], { routes: { "GET /v1/models": needsKey } })
  await using assembled = await assembleApp([])
  const refused = await conversation(assembled, { askSecret: () => Promise.resolve(key) })
  expect(await refused.run(`/model ${closed.url}/v1`)).toBe(`${closed.url} refuses the key.`)
  const cancelled = await conversation(assembled, { askSecret: () => Promise.resolve("") })
  expect(await cancelled.run(`/model ${closed.url}/v1`)).toBe("The model was not changed.")
  const script = await conversation(assembled)
  expect(await script.run(`/model ${closed.url}/v1`)).toBe(
    `${closed.url} needs a key. \`hermes model ${closed.url}/v1\` asks for it.`,
  )
  expect(await script.run("/model http://127.0.0.1:1/v1")).toBe(
    "Nothing listens at http://127.0.0.1:1. Start the server, or correct the host and port.",
  )
})
