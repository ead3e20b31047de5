import { expect, test } from "vitest"

import { toSessionId } from "../protocol/identifiers.ts"
import { statusCommand } from "./status.ts"
import type { SlashContext } from "./slash-command.ts"

const facts = { model: "m", provider: "p", cwd: "/w", permissionProfile: "default", tools: ["a", "b"] }
const row = {
  startedAt: 1000,
  messageCount: 7,
  apiCallCount: 3,
  usage: { input: 1000, output: 250, cacheRead: 4000, cacheWrite: 0, reasoning: 0 },
}

async function said(session: object, stored: object | undefined): Promise<readonly string[]> {
  const context = {
    app: {
      home: { profile: "work" },
      clock: { now: () => 1_120_000 },
      store: () => Promise.resolve({ session: () => Promise.resolve(stored) }),
    },
    session: { id: toSessionId("s1"), title: () => Promise.resolve("A title"), ...session },
  } as unknown as SlashContext
  const outcome = await statusCommand.run("", context)
  return outcome.kind === "say" ? outcome.text.split("\n") : [outcome.kind]
}

test("what the conversation has used and how full it is", async () => {
  const context = { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: 4900 }
  expect(await said({ facts, context }, row)).toEqual([
    "session      s1",
    "title        A title",
    "model        m (p)",
    "profile      work",
    "directory    /w",
    "started      2m ago, 7 messages",
    "tokens       5K read, 250 written in 3 model calls",
    "context      4.9K of 8.19K tokens, made shorter at 6K",
    "permissions  default",
    "tools        2",
  ])
})

test.each([
  [
    "before the first answer",
    { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: 0 },
    /^8\.19K tokens, made/,
  ],
  [
    "right after a compression",
    { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: -1 },
    /^8\.19K tokens, m/,
  ],
  ["without compression", { contextLength: 8192, thresholdTokens: 0, lastPromptTokens: 10 }, /^10 of 8\.19K tokens$/],
])("%s", async (_name, context, expected) => {
  const lines = await said({ facts, context }, undefined)
  expect(lines.find((line) => line.startsWith("context"))?.slice(13)).toMatch(expected)
})

test("an unknown window and a session that is not kept say no more than is known", async () => {
  const context = { contextLength: 0, thresholdTokens: 0, lastPromptTokens: 0 }
  const lines = await said({ facts: { ...facts, unsaved: "the disk is full" }, context }, row)
  expect(lines).toEqual([
    "session      s1 (not saved: the disk is full)",
    "title        A title",
    "model        m (p)",
    "profile      work",
    "directory    /w",
    "permissions  default",
    "tools        2",
  ])
})
