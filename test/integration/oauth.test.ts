import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { startAuthorizationServer } from "../support/authorization-server.ts"
import { startProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"

const source = (path: string) => JSON.stringify(join(import.meta.dirname, "../../src", path))

/** A process that opens the pool, says so, waits for a line, and then takes a credential. */
const SCRIPT = `
  import { once } from "node:events"
  import { systemClock } from ${source("base/clock.ts")}
  import { createLog } from ${source("base/log.ts")}
  import { processEnvironment } from ${source("config/environment.ts")}
  import { resolveHome } from ${source("config/home.ts")}
  import { loadConfig } from ${source("config/load.ts")}
  import { openCredentialPool } from ${source("llm/credentials/pool.ts")}
  const environment = processEnvironment()
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const log = createLog({ sinks: [], redact: (text) => text })
  const pool = await openCredentialPool({ provider: "nous", home, environment, config, clock: systemClock, log, random: Math.random })
  console.log("ready")
  await once(process.stdin, "data")
  process.stdin.unref()
  console.log("got " + (await pool.select())?.secret)
`

test("two processes at the end of a token: one refresh, both go on with its result", async () => {
  const firstArrived = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  await using server = await startAuthorizationServer({
    hold: async () => {
      firstArrived.resolve()
      await goOn.promise
    },
  })
  const { accessToken, refreshToken } = server.issue()
  const login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: new Date(Date.now() - 1000).toISOString(),
  }
  await using place = await temporaryHome({
    config: `providers: { nous: { oauth: { token_url: "${server.url}/token", client_id: client-1 } } }\n`,
    files: { "auth.json": JSON.stringify({ active_provider: "nous", providers: { nous: login } }) },
  })
  const start = () =>
    startProcess({
      command: process.execPath,
      args: ["--input-type=module-typescript", "-e", SCRIPT],
      env: place.env,
    })
  await using first = start()
  await using second = start()
  // Both have read the token that ends before either asks for a new one, and the second asks while the first waits.
  await Promise.all([first.waitForOutput("ready"), second.waitForOutput("ready")])
  first.write("go\n")
  await firstArrived.promise
  second.write("go\n")
  goOn.resolve()
  await Promise.all([first.waitForOutput(/got .*\n/), second.waitForOutput(/got .*\n/)])
  expect([first.stdout, second.stdout]).toEqual(["ready\ngot access-token-2\n", "ready\ngot access-token-2\n"])
  expect(server.tokenRequests).toEqual([
    { grant_type: "refresh_token", refresh_token: refreshToken, client_id: "client-1" },
  ])
  expect(JSON.parse(readFileSync(join(place.path, "auth.json"), "utf8"))).toMatchObject({
    active_provider: "nous",
    providers: { nous: { access_token: "access-token-2", refresh_token: "refresh-token-2" } },
    credential_pool: { nous: [{ access_token: "access-token-2", refresh_token: "refresh-token-2" }] },
  })
})
