import { expect, test } from "vitest"

import { importHome } from "../../src/admin/import-home/import-home.ts"
import { systemClock } from "../../src/base/clock.ts"
import { environmentFrom } from "../../src/config/environment.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import { CODEX_SESSION, writeClaudeCodeHome, writeCodexHome } from "../fixtures/import-home/foreign-homes.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

test("an imported conversation can be found by the model and resumed", async () => {
  await using assembled = await assembleApp([
    callsTool("session_search", { query: "zebrafish checkout" }),
    says("Found it."),
    says("Still one file."),
  ])
  const { app, home, model } = assembled
  writeClaudeCodeHome(home.userHome)
  writeCodexHome(home.userHome)
  for (const agent of ["claude-code", "codex"] as const) {
    const imported = await importHome(
      { home: app.home, environment: environmentFrom(home.env), clock: systemClock, log: app.log },
      {
        agent,
        from: undefined,
        categories: ["sessions"],
        dryRun: false,
        includeSecrets: false,
        signal: new AbortController().signal,
      },
    )
    expect(imported.ok).toBe(true)
  }
  await runToEnd(await assembled.open(), "What did I do about the checkout?")
  expect(JSON.stringify(model.requests[1]?.body)).toContain("Raise it to 60.")

  await runToEnd(await assembled.open({ resume: toSessionId(`codex_${CODEX_SESSION}`) }), "And now?")
  const body = JSON.stringify(model.requests[2]?.body)
  for (const part of ["Which quokka files are there?", "call_1", "quokka.txt", "One file: quokka.txt.", "And now?"])
    expect(body).toContain(part)
})
