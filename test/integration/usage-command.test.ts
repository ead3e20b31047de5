import { expect, test } from "vitest"

import { runSlashCommand } from "../../src/commands/slash-table.ts"
import { says, withHeaders } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

test("/usage shows the usage of the conversation and the remaining rate limit", async () => {
  const limits = { "x-ratelimit-limit-requests": "50", "x-ratelimit-remaining-requests": "49" }
  const usage = { input: 1200, output: 30, cacheRead: 800 }
  await using assembled = await assembleApp([
    says("Hello.", { usage }),
    says("Bye.", { usage, ...withHeaders(limits) }),
  ])
  const session = await assembled.open()
  await runToEnd(session, "Hi.")
  await runToEnd(session, "Bye.")
  const outcome = await runSlashCommand("/usage", {
    app: assembled.app,
    session,
    open: () => Promise.reject(new Error("not supported in this test")),
    running: false,
    signal: new AbortController().signal,
  })
  expect(outcome.kind === "reply" && outcome.text.split("\n")).toEqual([
    "model        test-model (custom)",
    "calls        2",
    "input        4K tokens (2.4K uncached, 1.6K read from the cache)",
    "output       60 tokens",
    "cost         included",
    expect.stringMatching(/^context {6}2K of /) as string,
    "requests     49 of 50 left",
  ])
})
