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

async function statusLines(session: object, stored: object | undefined): Promise<readonly string[]> {
  const context = {
    app: {
      home: { profile: "work" },
      clock: { now: () => 1_120_000 },
      store: () => Promise.resolve({ session: () => Promise.resolve(stored) }),
    },
    session: { id: toSessionId("s1"), title: () => Promise.resolve("A title"), ...session },
  } as unknown as SlashContext
  const outcome = await statusCommand.run("", context)
  return outcome.kind === "reply" ? outcome.text.split("\n") : [outcome.kind]
}

test("shows the usage and the size of the context", async () => {
  const context = { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: 4900 }
  expect(await statusLines({ facts, context }, row)).toEqual([
    "session      s1",
    "title        A title",
    "model        m (p)",
    "profile      work",
    "directory    /w",
    "started      2m ago, 7 messages",
    "tokens       5K input, 250 output in 3 model calls",
    "context      4.9K of 8.19K tokens, compressed at 6K",
    "permissions  default",
    "tools        2",
  ])
})

test.each([
  [
    "before the first reply",
    { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: 0 },
    /^8\.19K tokens, compressed/,
  ],
  [
    "right after a compression",
    { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: -1 },
    /^8\.19K tokens, compressed/,
  ],
  ["without compression", { contextLength: 8192, thresholdTokens: 0, lastPromptTokens: 10 }, /^10 of 8\.19K tokens$/],
])("%s", async (_name, context, expected) => {
  const lines = await statusLines({ facts, context }, undefined)
  expect(lines.find((line) => line.startsWith("context"))?.slice(13)).toMatch(expected)
})

test("omits the context without a known window, and the usage of an unsaved session", async () => {
  const context = { contextLength: 0, thresholdTokens: 0, lastPromptTokens: 0 }
  const lines = await statusLines({ facts: { ...facts, unsaved: "the disk is full" }, context }, row)
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
