/** Hermes' MCP client as a program for the conformance suite: connects to the address that is its last argument and uses what it finds. */
import { systemClock } from "../../../src/base/clock.ts"
import { isRecord, parseJson } from "../../../src/base/json.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import type { ListedTool } from "../../../src/mcp/catalogue/pin-tools.ts"
import { createConnection } from "../../../src/mcp/client/connection.ts"
import { logInToServer } from "../../../src/mcp/client/login.ts"
import { openServers, plainCall } from "./open-servers.ts"

const context = parseJson(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}")
const given = isRecord(context) ? context : {}
const signal = AbortSignal.timeout(100_000)

await using opened = await openServers({
  suite: {
    url: process.argv.at(-1) ?? "",
    auth: "oauth",
    timeout: 90,
    oauth: {
      client_id: given["client_id"],
      client_secret: given["client_secret"],
      client_metadata_url: "https://conformance-test.local/client-metadata.json",
    },
  },
})
const { settings } = opened.server()
const { home } = opened
const environment = environmentFrom({ HOME: home.userHome, HERMES_HOME: home.path })
const access = { environment, allowPrivate: true, trustedHosts: [] }

for (let attempt = 0; attempt < 3; attempt += 1) {
  if ((await useServer()) !== "login" || settings.target.kind !== "http") break
  const login = await logInToServer({
    ...access,
    home,
    clock: systemClock,
    server: settings.name,
    target: settings.target,
    // The login page of the suite redirects at once.
    showPage: async (page) => {
      const location = (await fetch(page, { redirect: "manual" })).headers.get("location")
      if (location !== null) await fetch(location)
    },
    signal,
  })
  if (login.ok) continue
  process.stderr.write(`login: ${login.error}\n`)
  process.exitCode = 1
  break
}

async function useServer(): Promise<"done" | "login"> {
  let tools: readonly ListedTool[] = []
  const connection = createConnection({
    ...access,
    settings,
    home,
    clock: systemClock,
    version: "0.0.0-test",
    cwd: home.userHome,
    log: createLogger({ sinks: [], redact: (text) => text }),
    redact: (text) => text,
    onErrorOutput: () => undefined,
    onListing: (listing) => {
      tools = listing.tools
    },
  })
  try {
    const ready = await connection.ready(signal)
    if (!ready.ok) {
      process.stderr.write(`${ready.error}\n`)
      if (connection.status().state === "needs-login") return "login"
      process.exitCode = 1
      return "done"
    }
    const call = plainCall({
      signal,
      scope: {
        roots: () => [{ uri: "file:///work", name: "work" }],
        ask: ({ choices }) => Promise.resolve({ kind: "answer", text: choices.includes("Accept") ? "Accept" : "" }),
        sample: () => Promise.resolve({ ok: true, value: { model: "test", text: "sampled", calls: [] } }),
      },
    })
    for (const { name, args } of callsFor(tools)) {
      const result = await connection.callTool(name, args, call)
      if (!result.ok) process.stderr.write(`${name}: ${result.error}\n`)
      if (connection.status().state === "needs-login") return "login"
    }
    return "done"
  } finally {
    await connection.close()
  }
}

interface PlannedCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** The calls that the suite wants, or one of each tool. */
function callsFor(tools: readonly ListedTool[]): readonly PlannedCall[] {
  const wanted = given["toolCalls"]
  if (Array.isArray(wanted))
    return wanted.flatMap((planned) =>
      isRecord(planned) && typeof planned["name"] === "string"
        ? [{ name: planned["name"], args: isRecord(planned["arguments"]) ? planned["arguments"] : {} }]
        : [],
    )
  return tools.map(({ name, inputSchema }) => ({ name, args: exampleOf(inputSchema, tools) }))
}

/** A value for each parameter. A parameter called `schema` wants the schema of another tool, as it was received. */
function exampleOf(schema: unknown, tools: readonly ListedTool[]): Record<string, unknown> {
  const properties = isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const type = isRecord(property) ? property["type"] : undefined
      if (name === "schema") return [name, tools[0]?.inputSchema]
      if (type === "number" || type === "integer") return [name, 5]
      if (type === "boolean") return [name, true]
      if (type === "object") return [name, {}]
      return [name, type === "array" ? [] : "example"]
    }),
  )
}
