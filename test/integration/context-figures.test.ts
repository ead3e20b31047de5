import { expect, test } from "vitest"

import { assembleApp, runToEnd } from "./assembled-app.ts"
import { says } from "../support/model-server/turn.ts"

test("the context figures are those of the model in use, also after a switch and on resume", async () => {
  await using assembled = await assembleApp([says("Hello.")])
  const session = await assembled.open()
  expect(session.context).toMatchObject({ lastPromptTokens: 0, contextLength: 8192 })
  await runToEnd(session, "hello")
  const chosen = assembled.app.chooseModel({})
  if (!chosen.ok) throw new Error(chosen.error.message)
  const { runtime } = chosen.value
  await session.switchModel({ ...chosen.value, runtime: { ...runtime, model: "larger", contextLength: 1_000_000 } })
  expect(session.context.contextLength).toBe(1_000_000)
  expect(session.context.lastPromptTokens).toBeGreaterThan(0)
  await session.close("user_exit")
  const resumed = await assembled.open({ resume: session.id })
  expect(resumed.context).toMatchObject({ contextLength: 8192 })
  expect(resumed.context.lastPromptTokens).toBeGreaterThan(0)
})
