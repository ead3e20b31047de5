import { expect, test } from "vitest"

import type { Message } from "../../protocol/message.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import { changedWorkspaceNote, openingWarnings } from "./opening-notices.ts"
import type { ResumedSession } from "./resume.ts"

const resumed = (more: Partial<ResumedSession> & { readonly history?: readonly Message[] } = {}): ResumedSession => ({
  messages: new Map((more.history ?? []).map((message, index) => [message, index])),
  revision: { messageCount: 0, rewinds: 0, continued: false },
  lastMessageId: 0,
  system: "You work in /a.",
  spentUsd: 0,
  used: NO_USAGE,
  declaredTools: undefined,
  interrupted: [],
  openIn: undefined,
  ...more,
})

test("a new conversation has no warnings; a resumed one names interrupted calls and the other process", () => {
  expect(openingWarnings(undefined)).toEqual([])
  expect(openingWarnings(resumed())).toEqual([])
  expect(openingWarnings(resumed({ interrupted: ["terminal", "patch"], openIn: 42 }))).toEqual([
    expect.stringContaining("stopped during a tool call (terminal, patch)"),
    expect.stringContaining("also open in process 42"),
  ])
})

test("a workspace note is sent to a resumed session only if its first line is new", () => {
  const note = "You work in /b.\nMore about it."
  expect(changedWorkspaceNote(note, undefined)).toBeUndefined()
  expect(changedWorkspaceNote(undefined, resumed())).toBeUndefined()
  expect(changedWorkspaceNote("You work in /a.", resumed())).toBeUndefined()
  const sent = changedWorkspaceNote(note, resumed())
  expect(sent).toContain(note)
  const after = resumed({ history: [{ role: "user", content: "hi", injected: sent ?? "" }] })
  expect(changedWorkspaceNote(note, after)).toBeUndefined()
  // The prompt still names /a, but the last note counts.
  expect(changedWorkspaceNote("You work in /a.", after)).toContain("You work in /a.")
})
