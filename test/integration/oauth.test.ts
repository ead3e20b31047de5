import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { startAuthorizationServer } from "../support/authorization-server.ts"
import { startProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"

const source = (path: string) => JSON.stringify(join(import.meta.dirname, "../../src", path))

/** Opens the credential pool, prints `ready`, waits for a line and then selects a credential. */
const SCRIPT = `
  import { once } from "node:events"
  import { systemClock } from ${source("base/clock.ts")}
  import { createLogger } from ${source("base/logger.ts")}
  import { processEnvironment } from ${source("config/environment.ts")}
  import { resolveHome } from ${source("config/home.ts")}
  import { loadConfig } from ${source("config/load-config.ts")}
  import { openCredentialPool } from ${source("llm/credentials/pool.ts")}
  const environment = processEnvironment()
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const log = createLogger({ sinks: [], redact: (text) => text })
  const pool = await openCredentialPool({ provider: "nous", home, environment, config, clock: systemClock, log, random: Math.random })
  console.log("ready")
  await once(process.stdin, "data")
  process.stdin.unref()
  console.log("got " + (await pool.select())?.secret)
`

test("two processes with an expired token refresh it once, and both use the new one", async () => {
  const firstArrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  await using server = await startAuthorizationServer({
    beforeTokenResponse: async () => {
      firstArrived.resolve()
      await release.promise
    },
  })
  const { accessToken, refreshToken } = server.issue()
  const login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: new Date(Date.now() - 1000).toISOString(),
  }
  await using home = await temporaryHome({
    config: `providers: { nous: { oauth: { token_url: "${server.url}/token", client_id: client-1 } } }\n`,
    files: { "auth.json": JSON.stringify({ active_provider: "nous", providers: { nous: login } }) },
  })
  const start = () =>
    startProcess({
      command: process.execPath,
      args: ["--input-type=module-typescript", "-e", SCRIPT],
      env: home.env,
    })
  await using first = start()
  await using second = start()
  // Both have read the expired token before either refreshes it, and the second selects while the first waits.
  await Promise.all([first.waitForOutput("ready"), second.waitForOutput("ready")])
  first.write("go\n")
  await firstArrived.promise
  second.write("go\n")
  release.resolve()
  await Promise.all([first.waitForOutput(/got .*\n/), second.waitForOutput(/got .*\n/)])
  expect([first.stdout, second.stdout]).toEqual(["ready\ngot access-token-2\n", "ready\ngot access-token-2\n"])
  expect(server.tokenRequests).toEqual([
    { grant_type: "refresh_token", refresh_token: refreshToken, client_id: "client-1" },
  ])
  expect(JSON.parse(readFileSync(join(home.path, "auth.json"), "utf8"))).toMatchObject({
    active_provider: "nous",
    providers: { nous: { access_token: "access-token-2", refresh_token: "refresh-token-2" } },
    credential_pool: { nous: [{ access_token: "access-token-2", refresh_token: "refresh-token-2" }] },
  })
})
